"""`config.toml` in the shape of GitLab Runner's, and the system id beside it.

Source: docs/reference/runner.md, "config.toml".
"""

import hashlib
import json
import os
import re
import secrets
import tomllib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from domain.errors import Invalid, NotFound, Refused
from domain.steps.place_table import read_place
from domain.steps.places import Local, Place
from files import durable
from fleet.backoff import Backoff

SYSTEM_ID_FILE: Final = ".runner_system_id"
SYSTEM_ID: Final = re.compile(r"s_[0-9a-f]{12}|r_[0-9a-zA-Z]{12}")
MACHINE_ID: Final = Path("/etc/machine-id")
EXECUTORS: Final = ("shell",)
DEFAULT_CHECK_INTERVAL: Final = 3.0
DELIVER_FOR: Final = 24 * 3600.0
BUILDS_DIR: Final = Path("builds")
RUN: Final = "run"
REFUSE: Final = "refuse"
WAYS: Final[Mapping[str, str]] = {
    RUN: "run on this machine without, and their logs say so",
    REFUSE: "fail at once as `runner_unsupported`",
}
"""What may become of jobs that ask for containers or caches, by the word of the configuration, and in words."""
VARIABLE: Final = re.compile(r"\$(?:\{(\w+)\}|(\w+))")

_TOKEN_START: Final = re.compile(r"^(?:glrt-(?:t[123]_)?|glrtr-|t[123]_)")
_SHORT_TOKEN: Final = 9
_TABLE: Final = re.compile(r"^(?=[ \t]*\[\[[ \t]*runners[ \t]*\]\])", re.MULTILINE)
"""Where a `[[runners]]` table begins."""
_URL: Final = re.compile(r"^([ \t]*url[ \t]*=[ \t]*).*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class RunnerEntry:
    """One `[[runners]]` table. `output_limit` is in bytes here (KiB in the file), `limit` 0 means no limit."""

    name: str
    url: str
    token: str
    id: int = 0
    executor: str = "shell"
    builds_dir: Path = BUILDS_DIR
    limit: int = 0
    output_limit: int = 4096 * 1024
    environment: tuple[tuple[str, str], ...] = ()
    tls_ca_file: Path | None = None
    steps: Place | None = None
    """Where steps of jobs run; None for a step runner of the job's own on this machine."""

    def authority(self) -> str:
        """PEM of `tls_ca_file` as it is now; empty without one, or where it cannot be read, which calls tell of."""
        try:
            return self.tls_ca_file.read_text() if self.tls_ca_file else ""
        except OSError:
            return ""

    @property
    def short_token(self) -> str:
        """The first nine characters behind the token's prefix, as GitLab Runner names its folders: tells nothing."""
        return re.sub(r"[^\w-]", "_", _TOKEN_START.sub("", self.token)[:_SHORT_TOKEN])


@dataclass(frozen=True, slots=True)
class FleetConfig:
    """The whole file. Durations are seconds.

    `state_dir` and the last three come from the table `[perdure]`: where running jobs are remembered, how waits grow
    and what `Retry-After` may ask for, how long an undelivered result is offered before it is left to the next start,
    what becomes of jobs that ask for what this runner does not do (`WAYS`).
    """

    runners: tuple[RunnerEntry, ...]
    state_dir: Path
    concurrent: int = 1
    check_interval: float = DEFAULT_CHECK_INTERVAL
    shutdown_timeout: float = 30.0
    backoff: Backoff = field(default_factory=Backoff)
    deliver_for: float = DELIVER_FOR
    unsupported_keywords: str = RUN


def load_config(path: Path) -> FleetConfig:
    """Read the file; raises NotFound, or Invalid with the place of the fault."""
    try:
        data = tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        raise NotFound(f"{path} does not exist; write it with `perdure runner register --config {path}`") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise Invalid(f"{path} is not valid TOML: {error}") from error
    entries = data.get("runners", [])
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise Invalid(f"{path}: `runners` must be tables written as [[runners]]")
    folder = path.resolve().parent
    own = data.get("perdure", {})
    if not isinstance(own, dict):
        raise Invalid(f"{path}: `perdure` must be a table written as [perdure]")
    concurrent = int(_number(path, data, "concurrent", 1))
    if concurrent < 1:
        raise Invalid(f"{path}: `concurrent` is {concurrent}; it must be at least 1")
    defaults = Backoff()
    return FleetConfig(
        runners=tuple(_read_entry(path, folder, number, entry) for number, entry in enumerate(entries, 1)),
        state_dir=folder / _text(path, own, "state_dir", "state"),
        concurrent=concurrent,
        check_interval=_number(path, data, "check_interval", 0) or DEFAULT_CHECK_INTERVAL,
        shutdown_timeout=_number(path, data, "shutdown_timeout", 30) or 30.0,
        backoff=Backoff(
            first=defaults.first,
            ceiling=_number(path, own, "max_backoff", defaults.ceiling),
            retry_after_limit=_number(path, own, "max_retry_after", defaults.retry_after_limit),
        ),
        deliver_for=_number(path, own, "deliver_for", DELIVER_FOR),
        unsupported_keywords=_one_of(path, own, "unsupported_keywords", tuple(WAYS)),
    )


def add_runner(path: Path, entry: RunnerEntry) -> None:
    """Append a `[[runners]]` table to the file, which is made when missing; what is there stays as it is.

    The new file replaces the old one at once and can be read by its owner only. Raises Refused when the same URL and
    token are there already.
    """
    text = "concurrent = 1\ncheck_interval = 0\n"
    if path.exists():
        if any((known.url, known.token) == (entry.url, entry.token) for known in load_config(path).runners):
            raise Refused(f"{path} already holds a runner with this token for {entry.url}; nothing was changed")
        text = path.read_text("utf-8").rstrip("\n") + "\n"
    rows: dict[str, str | int] = {
        "name": entry.name,
        "url": entry.url,
        "id": entry.id,
        "token": entry.token,
        "executor": entry.executor,
    }
    if entry.builds_dir != BUILDS_DIR:
        rows["builds_dir"] = str(entry.builds_dir)
    if entry.tls_ca_file is not None:
        rows["tls-ca-file"] = str(entry.tls_ca_file)
    table = "".join(f"  {key} = {json.dumps(value, ensure_ascii=False)}\n" for key, value in rows.items())
    path.parent.mkdir(parents=True, exist_ok=True)
    durable.replace(path, f"{text}\n[[runners]]\n{table}".encode())


def remove_runners(path: Path, tokens: Collection[str]) -> None:
    """Take the `[[runners]]` tables with these tokens out of the file; what else is there stays as it is."""
    head, *tables = _TABLE.split(path.read_text("utf-8"))
    kept = [table for table, entry in zip(tables, load_config(path).runners, strict=True) if entry.token not in tokens]
    if len(kept) < len(tables):
        durable.replace(path, "".join((head, *kept)).encode())


def move_runners(path: Path, name: str, url: str) -> None:
    """Let the runners of this name call another address; what else is in the file stays as it is."""
    head, *tables = _TABLE.split(path.read_text("utf-8"))
    moved = [
        _URL.sub(lambda line: f"{line[1]}{json.dumps(url)}", table, count=1) if entry.name == name else table
        for table, entry in zip(tables, load_config(path).runners, strict=True)
    ]
    if moved != tables:
        durable.replace(path, "".join((head, *moved)).encode())


def placed(config: FleetConfig, builds_dir: Path | None) -> FleetConfig:
    """The configuration with another place for the folders of all jobs; None leaves it as it is."""
    if builds_dir is None:
        return config
    return replace(config, runners=tuple(replace(entry, builds_dir=builds_dir.resolve()) for entry in config.runners))


def heeding(config: FleetConfig, unsupported_keywords: str) -> FleetConfig:
    """The configuration with another answer to what this runner does not do; empty leaves it as it is."""
    if unsupported_keywords and unsupported_keywords not in WAYS:
        raise Invalid(f"--unsupported-keywords is {unsupported_keywords!r}; use one of {', '.join(WAYS)}")
    return replace(config, unsupported_keywords=unsupported_keywords or config.unsupported_keywords)


def system_id(folder: Path) -> str:
    """The id of this runner process' home, kept in `.runner_system_id`; made from the machine's id where it has one."""
    file = folder / SYSTEM_ID_FILE
    if file.exists() and SYSTEM_ID.fullmatch(known := file.read_text("utf-8", "replace").strip()):
        return known
    if MACHINE_ID.exists() and (machine := MACHINE_ID.read_text("ascii", "replace").strip()):
        made = "s_" + hashlib.sha256(f"{machine}:{folder.resolve()}".encode()).hexdigest()[:12]
    else:
        made = "r_" + secrets.token_hex(6)
    folder.mkdir(parents=True, exist_ok=True)
    durable.replace(file, made.encode())
    return made


def _read_entry(path: Path, folder: Path, number: int, entry: Mapping[str, Any]) -> RunnerEntry:
    place = f"[[runners]] number {number}"
    url = _expanded(_text(path, entry, "url", "", place))
    token = _expanded(_text(path, entry, "token", "", place))
    if not url.startswith(("http://", "https://")) or not token:
        raise Invalid(f"{path}: {place} needs `url` (http:// or https://) and `token`; register it again")
    executor = _text(path, entry, "executor", "shell", place)
    if executor not in EXECUTORS:
        raise Invalid(f"{path}: {place}: executor {executor!r} is not known; use one of {', '.join(EXECUTORS)}")
    ca_file = _text(path, entry, "tls-ca-file", "", place)
    environment = entry.get("environment", [])
    if not isinstance(environment, list) or not all(isinstance(pair, str) and "=" in pair for pair in environment):
        raise Invalid(f'{path}: {place}: `environment` must be a list of "KEY=value"')
    return RunnerEntry(
        name=_text(path, entry, "name", f"runner {number}", place),
        url=url,
        token=token,
        id=int(_number(path, entry, "id", 0, place)),
        executor=executor,
        builds_dir=folder / _text(path, entry, "builds_dir", "builds", place),
        limit=int(_number(path, entry, "limit", 0, place)),
        output_limit=int(_number(path, entry, "output_limit", 4096, place) or 4096) * 1024,
        environment=tuple((pair.partition("=")[0], pair.partition("=")[2]) for pair in environment),
        tls_ca_file=folder / ca_file if ca_file else None,
        steps=_read_steps(f"{path}: [runners.steps] of {place}", folder, entry.get("steps")),
    )


def _read_steps(where: str, folder: Path, table: object) -> Place | None:
    if table is None:
        return None
    if not isinstance(table, dict):
        raise Invalid(f"{where} must be a table written as [runners.steps]")
    found = read_place(table, where, folder)
    return None if found == Local() else found


def _expanded(text: str) -> str:
    """`$VAR` and `${VAR}` from this process' environment; an unknown one is left as it stands."""
    return VARIABLE.sub(lambda match: os.environ.get(match[1] or match[2], match[0]), text)


def _text(path: Path, table: Mapping[str, Any], key: str, default: str, place: str = "the file") -> str:
    value = table.get(key, default)
    if not isinstance(value, str):
        raise Invalid(f"{path}: {place}: `{key}` must be text in quotes, not {value!r}")
    return value


def _one_of(path: Path, table: Mapping[str, Any], key: str, words: Sequence[str]) -> str:
    """One of these words; the first is the default."""
    value = _text(path, table, key, words[0])
    if value not in words:
        raise Invalid(f"{path}: `{key}` is {value!r}; use one of {', '.join(words)}")
    return value


def _number(path: Path, table: Mapping[str, Any], key: str, default: float, place: str = "the file") -> float:
    value = table.get(key, default)
    if isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
        raise Invalid(f"{path}: {place}: `{key}` must be a number that is not negative, not {value!r}")
    return float(value)
