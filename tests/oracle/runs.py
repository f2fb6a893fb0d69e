"""Many cases, one after the other or side by side, and what came of them."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from typing import Final

from tests.oracle.case import Case, Fault
from tests.oracle.domain_engine import DomainProject
from tests.oracle.generate import case_of
from tests.oracle.shrink import shrunk
from tests.oracle.trial import Open, Project, trial
from tests.oracle.workflow_engine import workflows


@dataclass
class Report:
    """Cases that were played, the moments in them, and the first disagreement of each that has one."""

    cases: int = 0
    moments: int = 0
    faults: list[Fault] = field(default_factory=list)


@asynccontextmanager
async def domain(*, postgresql: bool = False) -> AsyncIterator[Open]:  # it has no database
    """The pure core: needs nothing and leaves nothing."""

    async def open_project(case: Case) -> Project:
        return DomainProject(case.config, case.files, case.modes)

    yield open_project


ENGINES: Final[Mapping[str, Callable[..., AbstractAsyncContextManager[Open]]]] = {
    "domain": domain,
    "workflows": workflows,
}
CONCURRENT: Final[Mapping[str, int]] = {"domain": 1, "workflows": 8}
"""So many cases are played side by side, where an engine waits for anything."""


async def run(engine: str, seeds: Iterable[str], *, shrink: bool = True, postgresql: bool = False) -> Report:
    """Play the cases of these seeds."""
    report = Report()
    places = asyncio.Semaphore(CONCURRENT[engine])
    async with ENGINES[engine](postgresql=postgresql) as open_project:

        async def play(seed: str) -> None:
            async with places:
                case = case_of(seed)
                fault = await trial(case, open_project)
            report.cases += 1
            report.moments += len(case.moments)
            if fault is not None:
                report.faults.append(await shrunk(fault, open_project) if shrink else fault)

        async with asyncio.TaskGroup() as plays:
            for seed in seeds:
                plays.create_task(play(seed))
    return report
