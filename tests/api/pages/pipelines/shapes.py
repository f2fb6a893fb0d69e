"""Pipelines of many jobs, and what is asked of the database while a page is drawn."""

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import event
from sqlalchemy.engine import Engine


def layered(jobs: int, stages: int = 10, needs: int = 3) -> str:
    """A configuration of so many jobs, of which each needs some of the stage before."""
    in_stage = max(1, jobs // stages)
    lines = [f"stages: [{', '.join(f's{stage}' for stage in range(stages))}]"]
    for number in range(jobs):
        stage = min(number // in_stage, stages - 1)
        first = (stage - 1) * in_stage
        names = {f"job-{first + (number * 7 + shift * 13) % in_stage}" for shift in range(needs)} if stage else set()
        lines.append(f"job-{number}: {{stage: s{stage}, script: x, needs: [{', '.join(sorted(names))}]}}")
    return "\n".join(lines) + "\n"


@contextmanager
def statements() -> Iterator[list[str]]:
    """The statements that are executed meanwhile."""
    seen: list[str] = []

    def note(_connection: object, _cursor: object, statement: str, *_: object) -> None:
        seen.append(statement)

    event.listen(Engine, "before_cursor_execute", note)
    try:
        yield seen
    finally:
        event.remove(Engine, "before_cursor_execute", note)
