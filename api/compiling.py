"""Compiling apart from the event loop, with what the configuration includes found meanwhile."""

import asyncio
import time
from collections.abc import Callable
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

from api.config_sources import ConfigSources
from api.services import Services
from domain.config.compile import compile_config, merged_config
from domain.config.context import Context
from domain.config.plan import Plan
from domain.config.sources import Answer, Request, Wanted
from domain.errors import Invalid, PipelineFiltered, Unavailable

T = TypeVar("T")


@dataclass(slots=True)
class Compilation:
    """One configuration and what was found for it; to compile it after merging it asks for nothing twice."""

    services: Services
    text: str
    context: Context
    sources: ConfigSources
    file: str
    known: dict[Request, Answer] = field(default_factory=dict)

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
        loop = asyncio.get_running_loop()
        while True:
            try:
                result = await loop.run_in_executor(self.services.compilers, partial(work, known=self.known))
            except BrokenProcessPool as error:
                raise Unavailable("The compiler of configurations died; try again.") from error
            if not isinstance(result, Wanted):
                return result
            self.known.update(await self.sources.answer_all(result.requests))
