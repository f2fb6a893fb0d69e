"""A pipeline in the terminal, live: stages, jobs, states, durations. Words and glyphs, never colour alone."""

import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from types import TracebackType
from typing import IO, Any, Final, Protocol, Self

from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from cli.output import has_colour
from cli.printable import printable
from cli.states import of_job, of_pipeline

_FRAME: Final = 4
"""Lines of the terminal that are not for jobs: title, headings, the rest in one line, the cursor."""
_INTEREST: Final[Mapping[str, int]] = {"failed": 0, "running": 1, "canceling": 1, "pending": 2, "manual": 3}
"""Which jobs are shown where there is no room for all; the others come last."""


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


def follower(*, quiet: bool, no_color: bool = False, lines: IO[str] | None = None) -> Follower:
    """A live table on a terminal, lines elsewhere; on stderr when stdout belongs to a document.

    `lines` is where the lines go, standard error without it.
    """
    stream = sys.stderr if quiet else sys.stdout
    if not stream.isatty():
        return _Lines(lines or sys.stderr)
    coloured = has_colour(stream, no_color=no_color)
    return _Screen(Console(file=stream, no_color=not coloured, color_system="auto" if coloured else None))


class _Screen:
    """A table that is drawn again in its place."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._live = Live(console=console, refresh_per_second=8)

    def __enter__(self) -> Self:
        self._live.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.__exit__(kind, error, trace)

    def update(self, pipeline: dict[str, Any]) -> None:
        self._live.update(_table(pipeline, max(1, self._console.height - _FRAME)))


class _Lines:
    """A line for each change of a state."""

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream
        self._seen: dict[int, str] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stream.flush()

    def update(self, pipeline: dict[str, Any]) -> None:
        for job in pipeline["jobs"]:
            if self._seen.get(job["id"]) != job["status"]:
                self._seen[job["id"]] = job["status"]
                stage, name = printable(job["stage"]), printable(_name(job))
                self._stream.write(f"{stage:<10} {name:<40} {_state(job)} {_duration(job)}".rstrip() + "\n")
        self._stream.flush()


def _table(pipeline: dict[str, Any], room: int | None = None) -> Table:
    """The jobs in their order, or those of most interest and a count of the others where there is no room for all."""
    table = Table(title=f"Pipeline {pipeline['id']} · {of_pipeline(pipeline).label}", title_justify="left", box=None)
    for column in ("stage", "job", "state"):
        table.add_column(column, no_wrap=room is not None)
    table.add_column("duration", justify="right", no_wrap=room is not None)
    stage = ""
    shown, rest = _fitting(pipeline["jobs"], room)
    for job in shown:
        heading = job["stage"] if job["stage"] != stage else ""
        stage = job["stage"]
        style = of_job(job).style
        # Text, not markup: a name like `test: [linux, arm]` would lose its brackets
        name = Text(printable(_name(job)))
        table.add_row(Text(printable(heading)), name, Text(_state(job), style), _duration(job))
    if rest:
        table.add_row("", Text(f"and {sum(rest.values())} more", "dim"), Text(_counts(rest), "dim"), "")
    return table


def _fitting(jobs: Sequence[dict[str, Any]], room: int | None) -> tuple[Sequence[dict[str, Any]], Counter[str]]:
    """The jobs to show, and how many of each state are left out."""
    if room is None or len(jobs) <= room:
        return jobs, Counter()
    numbers = sorted(range(len(jobs)), key=lambda number: _INTEREST.get(jobs[number]["status"], len(_INTEREST)))
    chosen = set(numbers[:room])
    left_out = Counter(of_job(job).label for number, job in enumerate(jobs) if number not in chosen)
    return [jobs[number] for number in sorted(chosen)], left_out


def _counts(states: Counter[str]) -> str:
    return ", ".join(f"{count} {state}" for state, count in states.most_common())


def _name(job: dict[str, Any]) -> str:
    return job["name"] if (job["attempt"] or 1) == 1 else f"{job['name']} (attempt {job['attempt']})"


def _state(job: dict[str, Any]) -> str:
    shown = of_job(job)
    return f"{shown.glyph} {shown.label}"


def _duration(job: dict[str, Any]) -> str:
    if not job["started_at"]:
        return ""
    start = datetime.fromisoformat(job["started_at"])
    end = datetime.fromisoformat(job["finished_at"]) if job["finished_at"] else datetime.now(UTC)
    return f"{max(0.0, (end - start).total_seconds()):.1f} s"
