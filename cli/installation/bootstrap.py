"""The built-in runner: registered with the pods that `perdure up` has started, which are told as whom its jobs run.

One runner serves them all: its `config.toml` has an entry for each pod, by whose token the router knows the pod. It
goes to the front of its own home, whatever address people use, and wherever a backup says that the home was.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Any

from domain.errors import Forbidden, Invalid, NotFound, PerdureError, Unauthenticated, Unavailable
from domain.pods.routable_token import read_route
from files import durable
from fleet.config import RunnerEntry, load_config, move_runners, remove_runners
from pods.embedded_pods import all_settings, further_pods, removed_pods
from pods.loopback import near_front
from pods.run_folder import RunFolder
from pods.stack import jobs_run_as, runner_config
from settings import Settings

CREDENTIALS = "credentials.json"
"""Written by the API at its first start: `username` and `token` of the first administrator; at each, the `url`."""
RUNNER = {"runner_type": "instance_type", "description": "built-in", "run_untagged": True, "tag_list": "shell"}
CONCURRENT = 4
TIMEOUT = 15.0
HEAD = """\
concurrent = {concurrent}
check_interval = 1
"""
ENTRY = """
[[runners]]
  name = {name}
  url = {url}
  id = {id}
  token = {token}
  executor = "shell"
  builds_dir = {builds_dir}
"""


def ensure_runner(settings: Settings) -> str:
    """Register the runner with each pod and write its `config.toml`, as far as that is not done.

    The supervisor starts it then. Either way the pods know from now on whether the jobs of this file's runners run as
    the server's own user; a warning if one could not be told, else an empty text. They do not run before it knows.

    Raises NotFound, Invalid, Unauthenticated, Forbidden or Unavailable when there is no runner and none can be made.
    """
    path, as_server, url = runner_config(settings), settings.jobs_as == "server", near_front(settings)
    # Two `perdure up` at the same time shall register one runner.
    with RunFolder(settings.home).one_at_a_time("bootstrap"):
        _drop_removed_pods(path, settings)
        if path.exists():
            move_runners(path, str(RUNNER["description"]), url)
        warnings, known = [], _entries(path, settings)
        for pod in all_settings(settings):
            credentials = pod.home.resolve() / CREDENTIALS
            if pod.pod_number in known:
                warnings.append(_tell(path, known[pod.pod_number], url, credentials, as_server=as_server))
            else:
                _register(path, url, _token_in(credentials), as_server=as_server)
        warning = " ".join(filter(None, warnings))
        if warning and as_server and not jobs_run_as(settings).exists():
            return f"{warning} Until then it runs no jobs: it would not know whose it may."
        durable.replace(jobs_run_as(settings), json.dumps({"jobs_as": settings.jobs_as, "warning": warning}).encode())
        return warning


def _entries(path: Path, settings: Settings) -> dict[int, list[RunnerEntry]]:
    """The runners of the file by the number of their pod, as their tokens say.

    What names no pod is the first one's: it is of before tokens did, or its user wrote it.
    """
    if not path.exists():
        return {}
    found: dict[int, list[RunnerEntry]] = {settings.pod_number: []}
    further = {pod.number for pod in further_pods(settings.home)}
    for entry in load_config(path).runners:
        route = read_route(entry.token)
        number = route.pod_number if route else settings.pod_number
        if number in further or number == settings.pod_number:
            found.setdefault(number, []).append(entry)
    return found


def _drop_removed_pods(path: Path, settings: Settings) -> None:
    """Let the runner not ask for jobs of pods that there are not any more."""
    removed = {pod.number for pod in removed_pods(settings.home)}
    if not removed or not path.exists():
        return
    tokens = [entry.token for entry in load_config(path).runners]
    remove_runners(path, {token for token in tokens if (route := read_route(token)) and route.pod_number in removed})


def forget_runner(settings: Settings) -> None:
    """Let the built-in runner not start before `ensure_runner` has told the server as whom its jobs run."""
    jobs_run_as(settings).unlink(missing_ok=True)


@dataclass(frozen=True, slots=True)
class Found:
    """As whom jobs of the built-in runner run (`settings.jobs_as`); a warning if the server could not be told."""

    jobs_as: str
    warning: str


def last_found(settings: Settings) -> Found | None:
    """What the last `perdure up` has told the server; None if it could not, or there was none."""
    try:
        found = json.loads(jobs_run_as(settings).read_text())
        return Found(str(found["jobs_as"]), str(found["warning"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _token_in(path: Path) -> str:
    """The token of an administrator. The address beside it is for people: the runner goes to this home's own front."""
    try:
        return str(json.loads(path.read_text())["token"])
    except FileNotFoundError as error:
        raise NotFound(
            f"{path} is missing, so no runner can be registered. The API writes it at its first start; register a "
            "runner yourself with `perdure runner register`."
        ) from error
    except (ValueError, KeyError, TypeError) as error:
        raise Invalid(f"{path} is not readable as JSON with `token`: {error}") from error


def _register(path: Path, url: str, token: str, *, as_server: bool) -> None:
    address = f"{url}/api/v4/user/runners"
    made = _asked("POST", address, token, RUNNER | {"as_server": as_server})
    try:
        runner_id, runner_token = int(made["id"]), str(made["token"])
    except (ValueError, KeyError, TypeError) as error:
        raise Invalid(f"{address} answered without `id` and `token`: {str(made)[:200]}") from error
    path.parent.mkdir(mode=0o700, exist_ok=True)
    before = path.read_text() if path.exists() else HEAD.format(concurrent=CONCURRENT)
    text = ENTRY.format(
        id=runner_id,
        # A JSON string is a TOML basic string.
        name=json.dumps(RUNNER["description"]),
        url=json.dumps(url),
        token=json.dumps(runner_token),
        builds_dir=json.dumps(str(path.parent / "builds")),
    )
    durable.replace(path, (before.rstrip("\n") + "\n" + text).encode())


def _tell(path: Path, entries: Sequence[RunnerEntry], url: str, credentials: Path, *, as_server: bool) -> str:
    """Say it of every runner of the file that is this pod's; a warning if that was not possible.

    The server is asked first: it may be one of before, or put back from a backup.
    """
    try:
        token = _token_in(credentials)
        for entry in entries:
            if entry.url.rstrip("/") == url:
                address = f"{url}/api/v4/runners/{entry.id}"
                if _asked("GET", address, token).get("as_server") is not as_server:
                    _asked("PUT", address, token, {"as_server": as_server})
    except PerdureError as error:
        how = "run as the server's user" if as_server else "cannot read what the server keeps"
        return (
            f"The server could not be told that jobs of the built-in runner {how}: {error} "
            f"Put the token of an administrator into {credentials} and run `perdure up` again; if the "
            f"runner was removed, remove {path} before."
        )
    return ""


def _asked(method: str, address: str, token: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
    """The document that the server answers with."""
    import httpx  # a third of the start-up time of every command, and few need it

    try:
        response = httpx.request(
            method, address, headers={"PRIVATE-TOKEN": token}, json=body, timeout=TIMEOUT, trust_env=False
        )
    except httpx.HTTPError as error:
        raise Unavailable(f"{address} cannot be reached: {error}. Try `perdure up` again.") from error
    match response.status_code:
        case HTTPStatus.OK | HTTPStatus.CREATED:
            try:
                return dict(response.json())
            except (ValueError, TypeError) as error:
                raise Invalid(
                    f"{address} answered {response.status_code} without JSON: {response.text[:200]}"
                ) from error
        case HTTPStatus.UNAUTHORIZED:
            raise Unauthenticated(f"{address} does not know the token in {CREDENTIALS}. Was it revoked?")
        case HTTPStatus.FORBIDDEN:
            raise Forbidden(f"{address}: the token in {CREDENTIALS} is not that of an administrator.")
        case HTTPStatus.NOT_FOUND:
            raise NotFound(f"{address} is not there.")
        case status:
            raise Unavailable(f"{address} answered {status}: {response.text[:200]}. Try `perdure up` again.")
