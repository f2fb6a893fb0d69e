"""A running installation without Temporal: real application, real database, real repositories; people with tokens."""

import asyncio
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from itertools import count
from pathlib import Path
from typing import Any

import httpx
import uvicorn
from starlette.types import ASGIApp
from temporalio.client import WorkflowUpdateFailedError
from temporalio.exceptions import ApplicationError

from activities.steps import StepActivities
from api.app import create_app
from api.services import Services
from api.startup import close_services, open_services
from application.texts.renderings import Renderings
from auth.secret_token import digest, plain_token
from domain.messages import Answer, Command, Operation, PinSteps, PipelineFacts
from domain.pipelines.decisions import decide
from domain.pods.token_prefixes import PERSONAL
from models.clock import system_clock
from models.repositories.accounts import accounts, members
from models.repositories.owner import Owner
from models.repositories.pipelines import decisions, loading
from models.repositories.projects import ci_variables, projects
from rigs.ports import LOCAL, free_port
from settings import RefusalLimits, Settings, TimeLimits
from tests import forms
from tests.api.runner.world import World, make_world
from tests.api.v4.declared_responses import DeclaredResponses, WatchedTransport
from tests.git.serving import git, new_work_tree
from tests.waiting import HANGS, eventually
from workflows.handles import Pipelines

_ticks = count(1_000_000)


@dataclass
class Person:
    """Somebody with a token."""

    id: int
    username: str
    token: str


class Clockwork(Pipelines):
    """Answers commands as the workflow does: the same decision, recorded by the same SQL."""

    def __init__(self, services: Services) -> None:
        self._services = services

    async def ask(self, facts: PipelineFacts, name: str, operation: Operation, _timeout: timedelta) -> Answer:
        now = self._services.clock()
        async with self._services.database.read() as connection:
            loaded = await loading.load(connection, facts.pipeline_id)
        refused = await self._look_up_step(facts.pipeline_id, operation)
        command = Command(name, operation.key, operation.job_id, dict(operation.variables), refused=refused)
        turn = decide(loaded.pipeline, loaded.verdicts, (command,), now)
        assert turn.decision is not None
        decision = replace(turn.decision, run=int(now.timestamp() * 1e6), tick=next(_ticks))
        async with self._services.database.write() as connection:
            written = await decisions.record(connection, decision, now)
        (response,) = written.recorded.answers
        if response.refused:
            raise WorkflowUpdateFailedError(ApplicationError(response.refused, type="Refused"))
        return response

    async def _look_up_step(self, pipeline_id: int, operation: Operation) -> str:
        if not operation.from_step or operation.job_id is None:
            return ""
        order = PinSteps(pipeline_id, operation.key, operation.job_id, operation.from_step)
        return (await StepActivities(self._services.database, self._services.store).pin_steps(order)).refused


@dataclass
class Site:
    """The installation with one private project (`world`), its administrator root, and an anonymous client."""

    services: Services
    app: ASGIApp
    world: World
    root: Person
    folder: Path
    watch: DeclaredResponses

    def client(self, person: Person | None = None, **options: Any) -> httpx.AsyncClient:
        """A client of the application, with the token of a person; with cookies or an origin, one at our pages."""
        headers = {"PRIVATE-TOKEN": person.token} if person is not None else {}
        headers |= options.pop("headers", {})
        if person is None and (options.get("cookies") or "origin" in {name.lower() for name in headers}):
            headers |= forms.TOKEN
            options["cookies"] = forms.COOKIES | options.get("cookies", {})
        transport = WatchedTransport(self.app, self.watch, raise_app_exceptions=False)
        return httpx.AsyncClient(transport=transport, base_url=self.services.settings.url, headers=headers, **options)

    async def block(self, person: Person) -> None:
        """Block an account, as an administrator does."""
        async with self.services.database.write() as connection:
            await accounts.change(connection, person.id, state=accounts.BLOCKED)

    async def person(self, username: str, level: int = 0) -> Person:
        """A new person, with this access level in the project."""
        now = self.services.clock()
        async with self.services.database.write() as connection:
            key = await accounts.create_user(connection, username, username.title(), f"{username}@example.com", now)
            if level:
                await members.add_to_project(connection, self.world.project_id, key, level)
        return await self.with_token(key, username)

    async def with_token(self, key: int, username: str) -> Person:
        """A person with a new token."""
        token = plain_token(PERSONAL)
        async with self.services.database.write() as connection:
            await accounts.add_token(connection, key, "tests", digest(token), self.services.clock())
        return Person(key, username, token)

    async def path(self) -> str:
        """Full path of the project."""
        async with self.services.database.read() as connection:
            row = await projects.find(connection, self.world.project_id)
        assert row is not None
        return str(row.full_path)

    async def commit(self, files: dict[str, str]) -> str:
        """Fill the project's repository; the sha of its `main`."""
        await self.services.repositories.create(self.world.project_id, "main")
        tree = self.folder / "tree"
        sha = await new_work_tree(tree, files)
        await git("push", "-q", self.services.repositories.path(self.world.project_id), "main", cwd=tree)
        return sha

    async def masked_variable(self, value: str) -> None:
        """Give the project a masked variable."""
        owner, services = Owner(project_id=self.world.project_id), self.services
        values = {"key": "SECRET", "value": services.sealer.seal(value, ci_variables.purpose_of(owner)), "masked": True}
        async with services.database.write() as connection:
            await ci_variables.add(connection, owner, services.clock(), environment_scope="*", **values)

    def connect_temporal(self) -> None:
        """Let commands be answered."""
        self.services.temporal.connected = Clockwork(self.services)

    async def polls(self, number: int) -> bool:
        """Whether so many runners wait for a job."""
        return len(self.services.polls._everybody()) == number

    async def set_project(self, **values: Any) -> None:
        """Write columns of the project."""
        async with self.services.database.write() as connection:
            await connection.execute(
                projects.project.update().where(projects.project.c.id == self.world.project_id).values(**values)
            )


@asynccontextmanager
async def open_site(folder: Path, database_url: str, **more: Any) -> AsyncIterator[Site]:
    """An installation in `folder`, with `more` settings.

    Unless they say otherwise, it refuses as soon as it can, and no held poll finds by itself what nobody told it of.
    """
    more = {"refusals": RefusalLimits(refusal_pause=0), "times": TimeLimits(queue_rescan=2 * HANGS), **more}
    port = free_port()
    home = folder / "home"
    url = f"http://{LOCAL}:{port}"
    settings = Settings(home=home, database_url=database_url, external_url=url, api_port=port, **more)
    opened = await open_services(settings, system_clock)
    # Compiling in a thread gives the same plans without a new process for each test.
    compilers = ThreadPoolExecutor(1)
    services = replace(opened, compilers=compilers, renderings=Renderings(opened.database, compilers, HANGS))
    app = DeclaredResponses(create_app(services))
    transport = WatchedTransport(app, app)
    try:
        async with httpx.AsyncClient(transport=transport, base_url="http://perdure.test") as client:
            world = await make_world(services, client)
            site = Site(services, app, world, Person(world.user_id, "root", ""), folder, app)
            site.root = await site.with_token(world.user_id, "root")
            yield site
        app.require()
    finally:
        await close_services(services)
        opened.compilers.shutdown()


class _Server(uvicorn.Server):
    """Stops as soon as it is told to; uvicorn's own looks ten times a second."""

    def __init__(self, config: uvicorn.Config) -> None:
        """Nothing runs yet."""
        super().__init__(config)
        self.told = asyncio.Event()

    async def main_loop(self) -> None:
        """Keep the date of responses right until the end."""
        counter = 0
        while not await self.on_tick(counter):
            counter += 1
            with suppress(TimeoutError):
                await asyncio.wait_for(self.told.wait(), 0.1)
                self.should_exit = True


@asynccontextmanager
async def serving(site: Site) -> AsyncIterator[str]:
    """The application behind a real HTTP server; yields its address."""
    config = uvicorn.Config(
        site.app,
        host=LOCAL,
        port=site.services.settings.api_port,
        log_level="warning",
        lifespan="off",
        ws="none",
        timeout_graceful_shutdown=1,
    )
    server = _Server(config)
    running = asyncio.create_task(server.serve())

    async def started() -> bool:
        return server.started

    await eventually(started, "the server has started")
    try:
        yield site.services.settings.url
    finally:
        server.told.set()
        await running
