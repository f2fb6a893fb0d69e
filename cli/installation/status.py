"""`perdure status`: what of Perdure runs on this machine."""

import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from datetime import UTC, datetime

import typer
from rich.console import Console
from rich.table import Table

from cli.exit_codes import ExitCode
from cli.installation.bootstrap import last_found
from cli.installation.down import front_left
from cli.installation.own_installation import COPY, SAID_BY, another_at, installation_here
from cli.installation.up import is_ready, supervisor_runs, temporal_ui
from fleet.config import WAYS
from pods.child import Child
from pods.process import is_alive
from pods.run_folder import RunFolder
from pods.stack import runner_config, stack
from settings import Settings

NO_SUPERVISOR = {True: "has no supervisor", False: "is down"}
"""What is said, by whether a child lives."""

JOBS_RUN = {
    "server": "Jobs of the built-in runner run as the server's user, who may read all that it keeps: everybody's while "
    "all accounts are administrators', then only those of projects allowed with `perdure runner allow PROJECT`.",
    "namespaces": "Jobs of the built-in runner run as the server's user, from whom the server's folders are hidden.",
}
"""What the built-in runner's jobs may do, by what `PERDURE_JOBS_AS` came to; else they run as the user of that name."""
JOBS_RUN_AS_USER = "Jobs of the built-in runner run as the user {name}, who cannot read what the server keeps."
UNSUPPORTED = "It has neither containers nor caches: jobs that ask for image, services or cache {become}."
NOT_TOLD = "The built-in runner does not run: the server could not be told as whom its jobs would. Try `perdure up`."


@dataclass(frozen=True, slots=True)
class ChildStatus:
    """One child as it is now; `pid` and `since` (ISO 8601, UTC) are None if it does not live."""

    name: str
    pid: int | None
    alive: bool
    ready: bool
    restarts: int
    since: str | None


def status(settings: Settings, *, as_json: bool) -> ExitCode:
    """Print the state; OK if the supervisor lives, every child is ready and the address is theirs, else FAILED."""
    folder = RunFolder(settings.home)
    children = [child for child in stack(settings) if child.wanted]
    with ThreadPoolExecutor(max_workers=len(children)) as pool:
        found = list(pool.map(lambda child: look(child, folder), children))
    running, found_last = supervisor_runs(folder), last_found(settings)
    here = installation_here(settings)
    another = another_at(settings.url, here.installation_id, SAID_BY, "", settings.pod_number) if here else ""
    if as_json:
        answer = {
            "running": running,
            "url": settings.url,
            "temporal_ui": temporal_ui(settings),
            "installation_id": here and here.installation_id,
            "copy_of": (here and here.copy_of) or None,
            "another_at_url": bool(another),
            "children": [asdict(child) for child in found],
            "jobs_as": found_last and found_last.jobs_as,
            "unsupported_keywords": found_last and settings.unsupported_keywords,
        }
        typer.echo(json.dumps(answer))
    else:
        _show(settings, running, found)
        for line in filter(None, (another, here and here.copy_of and COPY.format(original=here.copy_of))):
            typer.echo(line)
    return ExitCode.OK if running and not another and all(child.ready for child in found) else ExitCode.FAILED


def look(child: Child, folder: RunFolder) -> ChildStatus:
    """One child as it is now."""
    record = folder.read(child.name)
    if record is None or not is_alive(record.identity):
        record = folder.living(child.name, child.argv) or record
    if record is None or not is_alive(record.identity):
        return ChildStatus(
            child.name, None, alive=False, ready=False, restarts=record.restarts if record else 0, since=None
        )
    since = datetime.fromtimestamp(record.create_time, UTC).isoformat(timespec="seconds")
    return ChildStatus(child.name, record.pid, True, is_ready(child, folder), record.restarts, since)


def _show(settings: Settings, running: bool, children: Sequence[ChildStatus]) -> None:
    console = Console()
    lives = any(child.alive for child in children)
    is_left = front_left(RunFolder(settings.home)) is not None
    word = "is up" if running else "is down, but its front holds callers" if is_left else NO_SUPERVISOR[lives]
    console.print(f"Perdure {word}: {settings.url}", highlight=False, soft_wrap=True)
    if not running:
        ending = "; `perdure down --all` stops the front too" if is_left else ""
        console.print(f"Next: `perdure up`{ending}", highlight=False, soft_wrap=True)
    table = Table(box=None, pad_edge=False)
    for heading in ("process", "state", "pid", "restarts", "since"):
        table.add_column(heading, no_wrap=True)
    for child in children:
        colour, state = _state(child)
        pid, since = str(child.pid or "-"), child.since or "-"
        table.add_row(child.name, f"[{colour}]{state}[/]", pid, str(child.restarts), since)
    console.print(table)
    if line := _of_jobs(settings, running=running):
        console.print(line, highlight=False, markup=False, soft_wrap=True)


def _of_jobs(settings: Settings, *, running: bool) -> str:
    """What the built-in runner's jobs may do, or why it runs none; empty where there is no such runner."""
    found = last_found(settings)
    if found is None:
        return NOT_TOLD if running and runner_config(settings).exists() else ""
    whose = found.warning or JOBS_RUN.get(found.jobs_as) or JOBS_RUN_AS_USER.format(name=found.jobs_as)
    return f"{whose}\n{UNSUPPORTED.format(become=WAYS[settings.unsupported_keywords])}"


def _state(child: ChildStatus) -> tuple[str, str]:
    """Colour and words; never colour alone."""
    if child.ready:
        return "green", "✓ ready"
    return ("yellow", "… not ready") if child.alive else ("red", "✗ down")
