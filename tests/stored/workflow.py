"""The workflow of a pipeline: what it remembers and has heard, and its turns, as `workflows.pipeline` takes them."""

from datetime import UTC, datetime
from typing import Final

from domain.messages import Decision
from domain.pipelines.decisions import advance, decide
from domain.pipelines.pipeline import Pipeline
from domain.pipelines.status import COMPLETE, Status
from domain.pipelines.verdict import Verdict
from tests.stored.pipeline import StoredPipeline
from tests.stored.rows import Tables

NOW: Final = datetime(2026, 1, 1, tzinfo=UTC)
"""Time stands still: a delayed job is due only when a test says so."""

MAX_TURNS: Final = 1_000
"""Who goes on after so many turns will never come to rest."""


class Workflow:
    """Decides for one pipeline. Its memory is not SQL's: it is read once, then advanced, and lost on `close`."""

    def __init__(self, tables: Tables, stored: StoredPipeline) -> None:
        """Read SQL for the first time."""
        self._tables = tables
        self._stored = stored
        self.memory: Pipeline | None = None
        self.granted: set[int] = set()
        self._is_owed = False
        self._verdicts: dict[int, Verdict] = {}
        self._folded: set[int] = set()
        self.load()

    def load(self) -> None:
        """What it knows from now on is what SQL says."""
        loaded = self._stored.load()
        self.memory, self._is_owed = loaded.pipeline, loaded.is_owed
        self._folded -= {verdict.job_id for verdict in loaded.verdicts}
        self._hear()

    def close(self) -> None:
        """Forget everything."""
        self.memory, self._verdicts, self._folded = None, {}, set()

    def is_over(self) -> bool:
        """Whether it closes by itself."""
        waits = any(row.is_open() for row in self._stored.rows.values())
        return self.memory is not None and not waits and self._stored.status in COMPLETE and self.memory.is_complete()

    def turns(self) -> bool:
        """Decide and record until nothing follows; whether anything did. A closed one starts when it is asked.

        Raises `AssertionError` if it goes on forever.
        """
        commands = tuple(self._tables.commands.pop(self._stored.key, ()))
        is_closed = self.memory is None
        if is_closed and not (commands or self.granted):
            return False
        if is_closed or any(command.name == "mirror_downstream" for command in commands):
            self.load()  # what only SQL knows is read before such a command is obeyed
        moved = False
        for _ in range(MAX_TURNS):
            assert self.memory is not None
            self._hear()
            granted, self.granted = frozenset(self.granted), set()
            verdicts = tuple(self._verdicts.values())
            turn = decide(self.memory, verdicts, commands, NOW, granted=granted, owed=self._is_owed)
            if turn.decision is None:
                return moved
            moved, self._is_owed, commands = True, False, turn.waiting
            self.memory = advance(turn.pipeline, self._stored.record(turn.decision))
            self._note(turn.decision)
        raise AssertionError("the workflow never comes to rest")

    def _hear(self) -> None:
        """The bells of rows that have ended ring, as often as they like: each verdict is folded once."""
        for row in self._stored.unfolded():
            if row.job.id not in self._folded:
                self._verdicts[row.job.id] = row.verdict()

    def _note(self, decision: Decision) -> None:
        """Verdicts that are recorded are not folded again, unless their rows come to life again."""
        self._folded -= {one.job_id for one in decision.transitions if one.to is Status.CREATED}
        for verdict in decision.verdicts:
            self._verdicts.pop(verdict.job_id, None)
            self._folded.add(verdict.job_id)
