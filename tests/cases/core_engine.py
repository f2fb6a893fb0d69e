"""Engine `domain`: runs scenarios through the pure core alone; `tests.stored` is SQL and the workflow's loop."""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final

from domain.config.plan import Plan
from domain.errors import Refused
from domain.pipelines.status import OPEN, Status, check_transition
from domain.pipelines.verdict import SCRIPT_FAILURE
from tests.cases.engine import COMMANDS, Begin, Engine
from tests.cases.scenario import State
from tests.stored.project import StoredProject
from tests.stored.rows import Row
from tests.stored.workflow import NOW

KEY: Final = "root"
"""The key of the only pipeline."""


class CoreEngine:
    """One pipeline of a plan. Raises `PerdureError` where the core does."""

    def __init__(self, plan: Plan) -> None:
        """Create the pipeline and bring it to rest. Its workflow never closes, as if it waited for retries."""
        self._project = StoredProject()
        self._stored = self._project.create(KEY, plan)
        self._facts: Mapping[str, Callable[[Row, Mapping[str, Any]], None]] = {
            "run": self._run,
            "skip": self._skip,
            "success": lambda row, _: self._end(row, Status.SUCCESS),
            "drop": self._drop,
            "due": self._become_due,
        }
        self._project.rest()

    async def apply(self, event: str, names: tuple[str, ...], arguments: Mapping[str, Any]) -> None:
        """Let an event happen to each job in turn (to the pipeline without names), then go on until all is at rest."""
        rows = [self._stored.latest(name) for name in names]
        asked: list[str] = []
        if event in COMMANDS:
            targets: list[int | None] = [row.job.id for row in rows] or [None]
            asked = [self._project.tables.ask(KEY, COMMANDS[event], target) for target in targets]
        else:
            for row in rows:
                self._facts[event](row, arguments)
        self._project.rest()
        if refused := [text for key in asked if (text := self._stored.answers[key].refused)]:
            raise Refused(" ".join(refused))

    async def state(self) -> State:
        """What is stored, and nothing that is not."""
        return State(
            str(self._stored.status),
            {name: str(status) for name, status in self._stored.stages.items()},
            {row.job.name: str(row.job.status) for row in self._stored.current()},
        )

    async def faults(self) -> list[str]:
        """A verdict that nobody has folded, though nobody is waited for any more."""
        if any(row.job.status in OPEN for row in self._stored.rows.values()):
            return []
        return [f"the verdict of {row.job.name} is not folded" for row in self._stored.unfolded()]

    def _run(self, row: Row, arguments: Mapping[str, Any]) -> None:
        if not self._stored.claim(row, graceful=bool(arguments.get("graceful"))):
            raise Refused(f"Job {row.job.id} is {row.job.status}; a runner takes only a pending one.")

    def _skip(self, row: Row, _: Mapping[str, Any]) -> None:
        """The clock of the test: a pending job ends, a created one is rewritten and SQL read again."""
        if row.job.status is Status.PENDING:
            self._end(row, Status.SKIPPED)
            return
        check_transition(row.job.id, row.job.status, Status.SKIPPED)
        row.set(status=Status.SKIPPED)
        self._load()

    def _become_due(self, row: Row, _: Mapping[str, Any]) -> None:
        if row.job.status is not Status.SCHEDULED:
            raise Refused(f"Job {row.job.id} is {row.job.status}; only a scheduled job becomes due.")
        row.set(due_at=NOW)
        self._load()

    def _drop(self, row: Row, arguments: Mapping[str, Any]) -> None:
        reason = arguments.get("failure_reason", SCRIPT_FAILURE)
        self._end(row, Status.FAILED, reason, arguments.get("exit_code"))

    def _end(self, row: Row, status: Status, reason: str = "", exit_code: int | None = None) -> None:
        if not self._stored.end(row, status, reason, exit_code):
            raise Refused(f"Job {row.job.id} is {row.job.status}; only a pending or running one ends.")

    def _load(self) -> None:
        """What the workflow knows from now on is what SQL says."""
        self._project.workflows[KEY].load()


@asynccontextmanager
async def core_engine() -> AsyncIterator[Begin]:
    """The pure core: needs nothing and leaves nothing."""

    async def begin(plan: Plan) -> Engine:
        return CoreEngine(plan)

    yield begin
