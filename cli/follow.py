"""A pipeline in the terminal, live: stages, jobs, states, durations. Words and glyphs, never colour alone."""

import sys
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, Final, Protocol, Self

import typer
from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

GLYPHS: Final = {
    "created": ("·", "dim"),
    "pending": ("◌", "yellow"),
    "running": ("▶", "cyan"),
    "canceling": ("■", "magenta"),
    "success": ("✓", "green"),
    "failed": ("✗", "red"),
    "canceled": ("■", "magenta"),
    "skipped": ("»", "dim"),
    "manual": ("⚙", "blue"),
    "scheduled": ("◷", "blue"),
}


class Follower(Protocol):
    """Shows a pipeline again and again."""

    def __enter__(self) -> Self:
        """Begin to show."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Leave the last state on the screen."""

    def update(self, pipeline: dict[str, Any]) -> None:
        """Show this state; `pipeline["jobs"]` are GitLab's job objects."""


def follower(*, quiet: bool) -> Follower:
    """A live table on a terminal, lines elsewhere; on stderr when stdout belongs to a document."""
    console = Console(stderr=quiet)
    return _Screen(console) if console.is_terminal else _Lines()


class _Screen:
    """A table that is drawn again in its place."""

    def __init__(self, console: Console) -> None:
        self._live = Live(console=console, refresh_per_second=8)

    def __enter__(self) -> Self:
        self._live.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.__exit__(kind, error, trace)

    def update(self, pipeline: dict[str, Any]) -> None:
        self._live.update(_table(pipeline))


class _Lines:
    """A line for each change of a state."""

    def __init__(self) -> None:
        self._seen: dict[int, str] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        sys.stderr.flush()

    def update(self, pipeline: dict[str, Any]) -> None:
        for job in pipeline["jobs"]:
            if self._seen.get(job["id"]) != job["status"]:
                self._seen[job["id"]] = job["status"]
                typer.echo(f"{job['stage']:<10} {_name(job):<40} {_state(job)} {_duration(job)}".rstrip(), err=True)


def _table(pipeline: dict[str, Any]) -> Table:
    table = Table(title=f"Pipeline {pipeline['id']} · {pipeline['status']}", title_justify="left", box=None)
    for column in ("stage", "job", "state"):
        table.add_column(column)
    table.add_column("duration", justify="right")
    stage = ""
    for job in pipeline["jobs"]:
        shown = job["stage"] if job["stage"] != stage else ""
        stage = job["stage"]
        style = GLYPHS.get(job["status"], ("?", ""))[1]
        # Text, not markup: a name like `test: [linux, arm]` would lose its brackets
        table.add_row(Text(shown), Text(_name(job)), Text(_state(job), style), _duration(job))
    return table


def _name(job: dict[str, Any]) -> str:
    return job["name"] if job["attempt"] == 1 else f"{job['name']} (attempt {job['attempt']})"


def _state(job: dict[str, Any]) -> str:
    glyph = GLYPHS.get(job["status"], ("?", ""))[0]
    allowed = " (allowed)" if job["status"] == "failed" and job["allow_failure"] else ""
    return f"{glyph} {job['status']}{allowed}"


def _duration(job: dict[str, Any]) -> str:
    if not job["started_at"]:
        return ""
    start = datetime.fromisoformat(job["started_at"])
    end = datetime.fromisoformat(job["finished_at"]) if job["finished_at"] else datetime.now(UTC)
    return f"{max(0.0, (end - start).total_seconds()):.1f} s"
