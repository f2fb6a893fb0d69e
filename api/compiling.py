"""Compiling apart from the event loop, with what the configuration includes found meanwhile."""

import asyncio
import time
from collections.abc import Callable
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from functools import partial
from typing import Final, TypeVar

from api.compiler_pool import OutOfTime, within
from api.config_sources import ConfigSources
from api.services import Services
from domain.config.compile import compile_config, merged_config
from domain.config.context import Context
from domain.config.plan import Plan
from domain.config.sources import Answer, Request, Wanted
from domain.errors import ConfigInvalid, ConfigIssue, Invalid, PipelineFiltered, Unavailable
from git.turns import Places, turn_of

T = TypeVar("T")

COMPUTING: Final = 15.0
"""Seconds of computing for one configuration, over all rounds; one of 5,000 jobs takes 1."""
COMPILATIONS: Final = Places(at_once=32, of_caller=1, of_repository=32, what="compilation")
"""Rounds that are computed or wait for one of the two processes: one caller has one of them at most."""
PATIENCE: Final = 300.0
"""Seconds that a round waits for its turn: many schedules of one person may be due at once."""
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
            result = await self.compute(partial(work, known=self.known))
            if not isinstance(result, Wanted):
                return result
            self.known.update(await self.sources.answer_all(result.requests))

    async def compute(self, work: Callable[[], T]) -> T:
        """Work on it in the process of the compiler, in the turn of whoever the configuration is compiled for."""
        loop = asyncio.get_running_loop()
        async with turn_of(COMPILATIONS, self.sources.key, "", PATIENCE):
            try:
                limited = partial(within, COMPUTING - self.computed, work)
                result, seconds = await loop.run_in_executor(self.services.compilers, limited)
                self.computed += seconds
                if self.computed > COMPUTING:
                    raise OutOfTime
            except BrokenProcessPool as error:
                raise Unavailable("The compiler of configurations died; try again.") from error
            except OutOfTime as error:
                raise ConfigInvalid((ConfigIssue(_TOO_LONG, file=self.file),)) from error
        return result
