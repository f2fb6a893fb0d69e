"""Compiling apart from the event loop, with what the configuration includes found meanwhile."""

import asyncio
import gc
import multiprocessing
import os
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Executor, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from typing import TypeVar

from api.config_sources import ConfigSources
from api.services import Services
from domain.config.compile import compile_config, merged_config
from domain.config.context import Context
from domain.config.plan import Plan
from domain.config.sources import Answer, Request, Wanted
from domain.errors import Unavailable

T = TypeVar("T")


def compiler_pool() -> Executor:
    """One process that compiles, so that a large configuration stalls neither polls nor workflow tasks."""
    return ProcessPoolExecutor(1, multiprocessing.get_context("spawn"), initializer=_prepare_compiler)


def _prepare_compiler() -> None:
    """End with the parent: a killed server must leave no process behind."""
    parent = multiprocessing.parent_process()
    assert parent is not None

    def follow() -> None:
        parent.join()
        os._exit(0)

    threading.Thread(target=follow, daemon=True).start()
    gc.freeze()


async def compile_text(
    services: Services, text: str, context: Context, sources: ConfigSources, *, file: str, every_job: bool = False
) -> Plan:
    """The plan of a configuration. Raises `ConfigInvalid`, `PipelineFiltered`, `Unavailable`."""
    work = partial(compile_config, text, context, file=file, every_job=every_job)
    return await _in_rounds(services, work, sources)


async def merge_text(services: Services, text: str, context: Context, sources: ConfigSources, *, file: str) -> str:
    """A configuration with all that it includes as one YAML text. Raises `ConfigInvalid`, `Unavailable`."""
    return await _in_rounds(services, partial(merged_config, text, context, file=file), sources)


async def _in_rounds(services: Services, work: "Callable[..., T | Wanted]", sources: ConfigSources) -> T:
    """Compile again with every answer to what was wanted, until nothing is."""
    loop = asyncio.get_running_loop()
    known: Mapping[Request, Answer] = {}
    while True:
        try:
            result = await loop.run_in_executor(services.compilers, partial(work, known=known))
        except BrokenProcessPool as error:
            raise Unavailable("The compiler of configurations died; try again.") from error
        if not isinstance(result, Wanted):
            return result
        known = {**known, **await sources.answer_all(result.requests)}
