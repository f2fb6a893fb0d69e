"""Compiling apart from the event loop, with what the configuration includes found meanwhile."""

import time
from collections.abc import Callable
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from functools import partial
from typing import Final, NoReturn, TypeVar

from application.configurations.compiler_pool import GivenUp, OutOfTime, one_round
from application.configurations.config_sources import ConfigSources
from application.configurations.pool_work import in_process
from application.services import Services
from domain.config.compile import compile_config, merged_config
from domain.config.context import Context
from domain.config.issue import ConfigIssue
from domain.config.plan import Plan
from domain.config.sources import Answer, Fetched, Paths, Request, Wanted
from domain.errors import ConfigInvalid, Invalid, PipelineFiltered, Unavailable
from git.turns import Places, gone, refuse_gone, turn_of

T = TypeVar("T")

COMPUTING: Final = 15.0
"""Seconds of computing for one configuration, over all rounds; one of 5,000 jobs takes 1."""
COMPILATIONS: Final = Places(at_once=32, of_caller=1, of_repository=32, what="compilation")
"""Rounds that are computed or wait for one of the two processes: one caller has one of them at most."""
PATIENCE: Final = 300.0
"""Seconds that a round waits for its turn: many schedules of one person may be due at once."""
HANDED_OVER: Final = 1024**3
"""Characters of files and paths that are handed to a process for one configuration, over all rounds."""
_TOO_LARGE: Final = (
    "what it includes is too large to be looked at so often as includes are nested; have fewer or smaller ones"
)
_TOO_LONG: Final = (
    f"it takes more than {COMPUTING:g} s to compute what this makes; have fewer or smaller includes, matrices and rules"
)


@dataclass(slots=True)
class Compilation:
    """One configuration and what was found for it; to compile it after merging it asks for nothing twice."""

    services: Services
    text: str
    context: Context
    sources: ConfigSources
    file: str
    known: dict[Request, Answer] = field(default_factory=dict)
    computed: float = 0.0
    """Seconds of the processor, so far."""
    handed_over: int = 0
    """Characters that the processes were given, so far."""

    async def plan(self, *, every_job: bool = False) -> Plan:
        """The plan for the event. Raises `ConfigInvalid`, `PipelineFiltered`, `Unavailable`."""
        return await self._in_rounds(
            partial(compile_config, self.text, self.context, file=self.file, every_job=every_job)
        )

    async def merged(self) -> str:
        """The configuration with all that it includes as one YAML text. Raises `ConfigInvalid`, `Unavailable`."""
        return await self._in_rounds(partial(merged_config, self.text, self.context, file=self.file))

    async def _in_rounds(self, work: Callable[..., T | Wanted]) -> T:
        """Compile again with every answer to what was wanted, until nothing is."""
        begun, result_of = time.perf_counter(), "failed"
        try:
            result = await self._until_complete(work)
            result_of = "ok"
        except PipelineFiltered:
            result_of = "filtered"
            raise
        except Invalid:
            result_of = "invalid"
            raise
        finally:
            self.services.metrics.compiled(result_of, time.perf_counter() - begun)
        return result

    async def _until_complete(self, work: Callable[..., T | Wanted]) -> T:
        while True:
            self.handed_over += sum(map(_size, self.known.values()))
            if self.handed_over > HANDED_OVER:
                self._refuse(_TOO_LARGE)
            result = await self.compute(partial(one_round, work, self.known))
            if not isinstance(result, Wanted):
                return result
            self.known.update(await self.sources.answer_all(result.requests))

    async def compute(self, work: Callable[[], T]) -> T:
        """Work on it in the process of the compiler, in the turn of whoever the configuration is compiled for.

        It ends when its caller goes, where `api.leaving_callers` watches them. Raises `ConfigInvalid`, `Unavailable`.
        """
        async with turn_of(COMPILATIONS, self.sources.key, "", PATIENCE):
            refuse_gone()
            try:
                result, seconds = await in_process(self.services.compilers, COMPUTING - self.computed, work)
            except BrokenProcessPool as error:
                raise Unavailable("The compiler of configurations died; try again.") from error
            except GivenUp as error:
                raise gone() from error
            except OutOfTime:
                self._refuse(_TOO_LONG)
        self.computed += seconds
        if self.computed > COMPUTING:
            self._refuse(_TOO_LONG)
        return result

    def _refuse(self, why: str) -> NoReturn:
        raise ConfigInvalid((ConfigIssue(why, file=self.file),))


def _size(answer: Answer) -> int:
    if isinstance(answer, Fetched):
        return len(answer.text)
    return sum(map(len, answer.paths)) if isinstance(answer, Paths) else 0
