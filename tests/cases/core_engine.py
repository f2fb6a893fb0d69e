"""Engine `domain`: runs scenarios through the pure core alone; this is the workflow's loop, `StoredPipeline` is SQL."""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from domain.config.plan import Plan
from domain.decisions import advance, decide
from domain.errors import Refused
from domain.messages import Command
from domain.status import COMPLETE, OPEN, Status, check_transition
from domain.verdict import SCRIPT_FAILURE, Verdict
from tests.cases.engine import COMMANDS, Begin, Engine
from tests.cases.scenario import State
from tests.cases.stored_pipeline import Row, StoredPipeline

NOW = datetime(2026, 1, 1, tzinfo=UTC)
"""Time stands still: a delayed job is due only when a scenario says so."""


class CoreEngine:
    """One pipeline of a plan. Raises `PerdureError` where the core does."""

    def __init__(self, plan: Plan) -> None:
        """Create the pipeline and bring it to rest."""
        self.stored = StoredPipeline(plan)
        self._facts: Mapping[str, Callable[[Row, Mapping[str, Any]], None]] = {
            "run": lambda row, given: self.stored.claim(row, graceful=bool(given.get("graceful"))),
            "skip": self._skip,
            "success": lambda row, _: self.stored.end(row, Status.SUCCESS),
            "drop": self._drop,
            "due": self._become_due,
        }
        self._load()
        self._rest(())

    async def apply(self, event: str, names: tuple[str, ...], arguments: Mapping[str, Any]) -> None:
        """Let an event happen to each job in turn (to the pipeline without names), then go on until all is at rest."""
        rows = [self.stored.named(name) for name in names]
        commands: tuple[Command, ...] = ()
        if event in COMMANDS:
            targets: list[int | None] = [row.job.id for row in rows] or [None]
            commands = tuple(Command(COMMANDS[event], f"command-{n}", target) for n, target in enumerate(targets))
        else:
            for row in rows:
                self._facts[event](row, arguments)
        self._rest(commands)

    async def state(self) -> State:
        """What is stored, and nothing that is not."""
        return State(
            str(self.stored.status),
            {name: str(status) for name, status in self.stored.stages.items()},
            {row.job.name: str(row.job.status) for row in self.stored.latest},
        )

    async def faults(self) -> list[str]:
        """A verdict that nobody has folded, though nobody is waited for any more."""
        rows = self.stored.rows.values()
        if any(row.job.status in OPEN for row in rows):
            return []
        return [f"the verdict of {row.job.name} is not folded" for row in rows if row.verdict is not None]

    def _skip(self, row: Row, _: Mapping[str, Any]) -> None:
        """The clock of the test: a pending job ends, a created one is rewritten and SQL read again."""
        if row.job.status is Status.PENDING:
            self.stored.end(row, Status.SKIPPED)
            return
        check_transition(row.job.id, row.job.status, Status.SKIPPED)
        row.to(Status.SKIPPED)
        self._load()

    def _become_due(self, row: Row, _: Mapping[str, Any]) -> None:
        if row.job.status is not Status.SCHEDULED:
            raise Refused(f"Job {row.job.id} is {row.job.status}; only a scheduled job becomes due.")
        row.job = replace(row.job, due_at=NOW)
        self._load()

    def _drop(self, row: Row, arguments: Mapping[str, Any]) -> None:
        reason = arguments.get("failure_reason", SCRIPT_FAILURE)
        self.stored.end(row, Status.FAILED, reason, arguments.get("exit_code"))

    def _load(self) -> None:
        """What the workflow knows from now on is what SQL says."""
        loaded = self.stored.load()
        self._pipeline, self._is_owed = loaded.pipeline, loaded.is_owed

    def _rest(self, commands: tuple[Command, ...]) -> None:
        """Decide and record until nothing follows any more, as the workflow does. Raises what a command was refused."""
        refused: list[str] = []
        while True:
            verdicts: tuple[Verdict, ...] = tuple(self.stored.unfolded())
            granted = frozenset(self.stored.free_for())
            turn = decide(self._pipeline, verdicts, commands, NOW, granted=self._known(granted), owed=self._is_owed)
            commands = turn.waiting
            if turn.decision is None:
                break
            self._is_owed = False
            refused += [answer.refused for answer in turn.decision.answers if answer.refused]
            self._pipeline = advance(turn.pipeline, self.stored.record(turn.decision))
        if refused:
            raise Refused(" ".join(refused))

    def _known(self, granted: frozenset[int]) -> frozenset[int]:
        """Those of the jobs that the workflow believes to wait."""
        waiting = {job.id for job in self._pipeline.jobs if job.status not in COMPLETE}
        return granted & waiting


@asynccontextmanager
async def core_engine() -> AsyncIterator[Begin]:
    """The pure core: needs nothing and leaves nothing."""

    async def begin(plan: Plan) -> Engine:
        return CoreEngine(plan)

    yield begin
