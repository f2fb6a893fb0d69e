"""From an event to a pipeline: read the configuration, compile it apart from the event loop, persist all at once."""

import asyncio
import gc
import multiprocessing
import os
import threading
from concurrent.futures import Executor, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from typing import Final

from api.services import Services
from domain.config.compile import compile_config
from domain.config.plan import Plan
from domain.errors import ConfigMissing, Invalid, Unavailable
from git.repository import Repository
from models.notifications import OUTBOX
from models.repositories import pipelines
from models.repositories.pipelines import PipelineRequest

CONFIG_FILE: Final = ".gitlab-ci.yml"


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


async def compile_text(services: Services, text: str) -> Plan:
    """Compile a configuration. Raises `ConfigInvalid` with every fault, `Unavailable` when the compiler died."""
    loop = asyncio.get_running_loop()
    try:
        return await loop.run_in_executor(services.compilers, compile_config, text)
    except BrokenProcessPool as error:
        raise Unavailable("The compiler of configurations died; try again.") from error


async def create_pipeline(services: Services, request: PipelineRequest, repository: Repository) -> int:
    """Create a pipeline; its rows and the outbox row are one transaction. Raises `ConfigInvalid`, `Invalid`."""
    request, plan = await prepare(services, request, repository)
    now = services.clock()
    async with services.database.write() as connection:
        pipeline_id = await pipelines.create(connection, request, plan, now)
    await services.notifications.notify(OUTBOX)
    await repository.keep(pipeline_id, request.sha)
    return pipeline_id


async def prepare(services: Services, request: PipelineRequest, repository: Repository) -> tuple[PipelineRequest, Plan]:
    """The request with its commit's facts, and the plan of the configuration at that commit.

    A commit never changes, so what it compiled to is kept for the next pipeline of it.
    """
    known = services.plans.get(repository.path, request.sha)
    if known is None:
        facts = await _facts(repository, request.sha)
        known = (facts, await _plan(services, request.sha, repository))
        services.plans.put(repository.path, request.sha, known)
    return replace(request, commit=known[0]), known[1]


async def _plan(services: Services, sha: str, repository: Repository) -> Plan:
    raw = await repository.read_file(sha, CONFIG_FILE, limit=services.settings.sizes.config_bytes)
    if raw is None:
        raise ConfigMissing(f"Missing CI config file: commit {sha[:8]} has no {CONFIG_FILE} at its top.")
    try:
        text = raw.decode()
    except UnicodeDecodeError as error:
        raise Invalid(f"{CONFIG_FILE} is not UTF-8 text (byte {error.start}).") from error
    return await compile_text(services, text)


async def with_commit(request: PipelineRequest, repository: Repository) -> PipelineRequest:
    """The request with message, title and author of its commit."""
    return replace(request, commit=await _facts(repository, request.sha))


async def _facts(repository: Repository, sha: str) -> dict[str, str]:
    commit = await repository.commit(sha)
    return {
        "title": commit.title,
        "message": commit.message,
        "author_name": commit.author_name,
        "author_email": commit.author_email,
        "timestamp": commit.authored_at.isoformat(),
    }
