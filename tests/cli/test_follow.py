"""The pipeline in the terminal."""

import io
from typing import Any

from rich.console import Console

from cli.follow import _table


def job(**values: Any) -> dict[str, Any]:
    """A job as the API shows it."""
    plain = {"id": 1, "name": "build", "stage": "test", "status": "success", "attempt": 1, "allow_failure": False}
    return {**plain, "started_at": "2026-01-02T03:04:05.000Z", "finished_at": "2026-01-02T03:04:07.500Z", **values}


def drawn(*jobs: dict[str, Any]) -> str:
    """What a terminal shows."""
    console = Console(file=io.StringIO(), width=100)
    console.print(_table({"id": 7, "status": "running", "jobs": list(jobs)}))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_names_keep_their_brackets() -> None:
    assert "test: [linux, arm]" in drawn(job(name="test: [linux, arm]"))
    assert "[red]x[/red]" in drawn(job(name="[red]x[/red]"))


def test_a_state_is_a_word_and_a_glyph() -> None:
    assert "! failed (allowed to fail)" in drawn(job(status="failed", allow_failure=True))
    assert "» skipped" in drawn(job(status="skipped", started_at=None, finished_at=None))


def test_attempts_and_durations_are_shown() -> None:
    text = drawn(job(attempt=2))
    assert "build (attempt 2)" in text
    assert "2.5 s" in text
