"""Real workflows on a real Temporal server, a real database, relay and bridges: the test is runners and people.

Nothing of the product is replaced or watched from inside. What is at rest is told by SQL (nothing is to be sent, no
resource group is about to choose) and by Temporal (no workflow has a task to do, none waits for anything but jobs).
"""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yaml
from sqlalchemy import Row
from temporalio.client import WorkflowExecutionStatus

from application.pipelines.creation import create_pipeline
from domain.pipelines.resource_groups import ProcessMode
from domain.pipelines.status import COMPLETE, Status
from models.notifications import OUTBOX
from models.repositories.pipelines import invariants, resource_groups
from models.repositories.pipelines.pipelines import PipelineRequest
from rigs.postgres import fresh_database
from tests.application.bridges.installation import open_installation
from tests.application.bridges.running import Running, running
from tests.cases.engine import COMMANDS
from tests.git.serving import git, new_commit
from tests.models.world import job, pipeline, stage
from tests.oracle import played
from tests.oracle.case import Case
from tests.oracle.events import Event
from tests.oracle.generate import LATER
from tests.oracle.plan import plan_of
from tests.oracle.resting import Resting, unsent
from tests.oracle.seen import Seen, SeenJob, SeenRun
from tests.oracle.trial import Open, Project
from tests.oracle.world import ROOT
from tests.postgres import postgres_server
from tests.temporal import temporal_server


class WorkflowProject:
    """One project with all its pipelines."""

    def __init__(self, together: Running, project_id: int, case: Case) -> None:
        """See `opened`."""
        self._here = together.here
        self._pod = together.pod
        self._world = together.pod.world
        self._project_id = project_id
        self._case = case
        self._roots: dict[int, str] = {}
        self._resting = Resting(together.pod, project_id)

    async def begin(self) -> None:
        """Come to rest for the first time."""
        await self._resting.wait()

    async def create(self, key: str, sha: str) -> None:
        """Create a pipeline of the newest commit, as a push does."""
        wish = PipelineRequest(
            project_id=self._project_id, ref="main", sha=sha, user_id=self._world.user_id, source="push"
        )
        services = self._here.site.services
        made = await create_pipeline(services, wish, services.repositories.get(self._project_id))
        self._roots[made] = key

    async def happen(self, events: Sequence[Event]) -> tuple[bool, ...]:
        """Let events of one moment happen: what runners say in its order, then commands at the same time."""
        rows = [await self._target(event) for event in events]
        asked: dict[int, asyncio.Task[bool]] = {}
        accepted: dict[int, bool] = {}
        for number, (event, row) in enumerate(zip(events, rows, strict=True)):
            if event.kind not in COMMANDS:
                accepted[number] = await self._fact(event, row)
        await self._pod.notifications.notify(OUTBOX)
        for number, (event, row) in enumerate(zip(events, rows, strict=True)):
            if event.kind in COMMANDS:
                target = None if row is None else int(row.id)
                asked[number] = asyncio.create_task(self._command(event, target))
        for number, task in asked.items():
            accepted[number] = await task
        await self._resting.wait()
        return tuple(accepted[number] for number in range(len(events)))

    async def seen(self) -> Seen:
        """All pipelines, as SQL has them."""
        found = {}
        for pipeline_id, key in (await self._keys()).items():
            rows = await self._world.rows(job, pipeline_id=pipeline_id, retried=False)
            found[key] = SeenRun(
                await self._world.status(pipeline_id),
                {row.name: str(row.status) for row in await self._world.rows(stage, pipeline_id=pipeline_id)},
                {row.name: SeenJob(str(row.status), row.attempt, row.allow_failure) for row in rows},
            )
        return found

    async def loose_ends(self) -> list[str]:
        """The rules that SQL breaks at rest, open workflows of pipelines that are over, and rows tried in vain."""
        keys = await self._keys()
        found = []
        for pipeline_id, key in keys.items():
            async with self._world.database.read() as connection:
                now = self._world.now()
                faults = await invariants.broken(connection, now, pipeline_id=pipeline_id, at_rest=True)
            found += [f"{key}: {fault.rule}: {fault.sentence}" for fault in faults]
            status, state = await self._world.status(pipeline_id), await self._pod.state(pipeline_id)
            is_open = state is WorkflowExecutionStatus.RUNNING
            if status not in COMPLETE and not is_open:
                found.append(f"{key}: it is {status} and its workflow is {state}")
            if status == Status.SUCCESS and is_open:
                found.append(f"{key}: its workflow is open although it is over")
        rows = await unsent(self._pod, list(keys))
        return found + [f"{keys[row.pipeline_id]}: the outbox tries {row.kind} in vain: {row.error}" for row in rows]

    async def _keys(self) -> dict[int, str]:
        """The pipelines of the project by id, as the simulation calls them."""
        found: dict[int, str] = {}
        rows = await self._world.rows(pipeline, project_id=self._project_id)
        for row in rows:
            if row.bridge_id is None:
                found[row.id] = self._roots.get(row.id, "?")
        for row in rows:  # parents come first
            if row.bridge_id is not None:
                bridge = await self._world.row(job, id=row.bridge_id)
                found[row.id] = f"{found[bridge.pipeline_id]}/{bridge.name}#{bridge.attempt}"
        return found

    async def _target(self, event: Event) -> Any:
        pipeline_id = await self._pipeline_id(event)
        if not event.job or pipeline_id is None:
            return None
        which = {"attempt": event.attempt} if event.attempt else {"retried": False}
        return await self._world.row(job, pipeline_id=pipeline_id, name=event.job, **which)

    async def _pipeline_id(self, event: Event) -> int | None:
        return next((number for number, key in (await self._keys()).items() if key == event.run), None)

    async def _fact(self, event: Event, row: Row[Any] | None) -> bool:
        if event.kind == "newer_commit":
            await self.create(event.run, await self._push(event.run))
            return True
        return row is not None and await played.fact(self._world, row, event)

    async def _push(self, name: str) -> str:
        """A newer commit with another configuration; its sha."""
        tree = self._here.folder / f"tree-{self._project_id}"
        sha = await new_commit(tree, {".gitlab-ci.yml": _text(self._case.files[name])}, "Newer")
        repositories = self._here.site.services.repositories
        await git("push", "-q", repositories.path(self._project_id), "main", cwd=tree)
        return sha

    async def _command(self, event: Event, job_id: int | None) -> bool:
        pipeline_id = await self._pipeline_id(event)
        return pipeline_id is not None and await played.command(self._pod, pipeline_id, event, job_id)


def _text(config: Mapping[str, Any]) -> str:
    return str(yaml.safe_dump(dict(config), sort_keys=False))


@asynccontextmanager
async def workflows(*, postgresql: bool = False) -> AsyncIterator[Open]:
    """Start a Temporal server, a database and everything between them; each case gets a project of its own."""
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="perdure-oracle-")))
        address = await stack.enter_async_context(temporal_server(folder))
        url = ""
        if postgresql:
            server = await asyncio.to_thread(stack.enter_context, postgres_server())
            url = await stack.enter_async_context(fresh_database(server))
        here = await stack.enter_async_context(open_installation(folder, url))
        together = await stack.enter_async_context(running(here, address))
        numbers = count(1)

        async def open_project(case: Case) -> Project:
            return await opened(together, case, f"case-{next(numbers)}")

        yield open_project


async def opened(together: Running, case: Case, name: str) -> Project:
    """A project with the files of a case, and its first pipeline."""
    files = {path: _text(config) for path, config in case.files.items() if path != LATER}
    project_id = await together.here.project(name, {".gitlab-ci.yml": _text(case.config), **files})
    await _set_modes(together, project_id, case)
    project = WorkflowProject(together, project_id, case)
    tree = together.here.folder / f"tree-{project_id}"
    await project.create(ROOT, await git("rev-parse", "HEAD", cwd=tree))
    return project


async def _set_modes(together: Running, project_id: int, case: Case) -> None:
    named = {one.group for config in (case.config, *case.files.values()) for one in plan_of(config).jobs if one.group}
    async with together.pod.world.database.write() as connection:
        made = await resource_groups.ensure(connection, project_id, named, together.pod.world.now())
        for key, group_id in made.items():
            mode = ProcessMode(case.modes.get(key, "unordered"))
            await resource_groups.set_mode(connection, group_id, mode, together.pod.world.now())
