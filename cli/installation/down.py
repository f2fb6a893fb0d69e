"""`perdure down`: stop what runs of a home; its state stays, and so does its front, unless everything shall end."""

import asyncio
import signal
from dataclasses import replace

import typer

from pods.process import end, end_group, is_alive
from pods.run_folder import SUPERVISOR, RunFolder, RunRecord
from pods.stack import FRONT
from pods.supervisor import GRACE
from settings import Settings


def down(settings: Settings, *, everything: bool) -> int:
    """Stop the supervisor, which stops its children; then what is left. Returns how many processes were stopped.

    Without `everything` the front goes on: it holds callers for a restart (`front_left`).
    """
    folder = RunFolder(settings.home)
    before = len(_living(folder))
    supervisor = folder.read(SUPERVISOR)
    if supervisor:
        # It waits for its children one after the other.
        ask = signal.SIGTERM if everything else signal.SIGQUIT
        asyncio.run(end(supervisor.identity, GRACE * (before + 1), ask))
        folder.forget(SUPERVISOR)
    for record in _living(folder):
        if _is_front(folder, record) and not everything:
            folder.write(replace(record, is_left=record.name == FRONT))
            continue
        asyncio.run(end(record.identity, GRACE))
        end_group(record.identity, folder.mark(record.name))
    living = {record.name for record in _living(folder)}
    for path in folder.run.glob("*.json"):
        if path.stem not in living:
            folder.forget(path.stem)
    return before - len(living)


def front_left(folder: RunFolder) -> RunRecord | None:
    """The front that `perdure down` has left, if it lives."""
    record = folder.read(FRONT)
    return record if record and record.is_left and is_alive(record.identity) else None


def _is_front(folder: RunFolder, record: RunRecord) -> bool:
    return record.name == FRONT or record.name.startswith(folder.leaving(FRONT))


def _living(folder: RunFolder) -> list[RunRecord]:
    """Every recorded process that lives, the youngest first: that is the reverse of the order of their start."""
    living = [record for record in folder.all() if is_alive(record.identity)]
    return sorted(living, key=lambda record: record.create_time, reverse=True)


def tell(settings: Settings, stopped: int) -> None:
    """Print what was stopped, and what goes on."""
    typer.echo("Perdure is down." if stopped else "Perdure was not up.", err=True)
    front = front_left(RunFolder(settings.home))
    if front:
        typer.echo(
            f"Its front goes on at {settings.url} (pid {front.pid}): results of jobs, logs, uploads, downloads and git "
            f"wait there up to {settings.front.hold:g} s each, everything else gets 503.\n"
            "Next: `perdure up` takes it over; `perdure down --all` stops it too.",
            err=True,
        )
