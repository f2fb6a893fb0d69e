"""Real workflows on a real Temporal server, a real database, relay and bridges: the test is runners and people.

Nothing of the product is replaced or watched from inside. What is at rest is told by SQL (nothing is to be sent, no
resource group is about to choose) and by Temporal (no workflow has a task to do, none waits for anything but jobs).
"""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final
from uuid import uuid4

import yaml
from sqlalchemy import select, update
from temporalio.api.workflowservice.v1 import DescribeWorkflowExecutionResponse
from temporalio.client import WorkflowExecutionStatus, WorkflowUpdateFailedError
from temporalio.service import RPCError, RPCStatusCode

from api.pipeline_creation import create_pipeline
from domain.messages import Operation
from domain.resource_groups import ProcessMode, choose
from domain.status import COMPLETE, Status
from models.columns import Record, table_of
from models.environments import ResourceGroup
from models.notifications import OUTBOX
from models.pipelines import QueueEntry
from models.repositories import demands, invariants, outbox, pipelines, projects, resource_groups, runners, verdicts
from models.repositories.pipelines import PipelineRequest
from tests.api.bridges.installation import Installation, open_installation
from tests.cases.engine import COMMANDS
from tests.git.serving import git, new_commit
from tests.models.world import hand_out, job, outbox_table, pipeline, stage, touch
from tests.oracle.case import Case
from tests.oracle.events import Event
from tests.oracle.generate import LATER
from tests.oracle.plan import plan_of
from tests.oracle.seen import Seen, SeenJob, SeenRun
from tests.oracle.trial import Open, Project
from tests.oracle.world import ROOT
from tests.postgres import fresh_database, postgres_server
from tests.temporal import new_namespace, temporal_server
from tests.workflows.pod import Pod
from workflows.await_job import workflow_id
from workflows.resource_group import group_workflow_id

entry = table_of(QueueEntry)
group = table_of(ResourceGroup)

ANSWERS_WITHIN: Final = timedelta(seconds=60)
RESTS_WITHIN: Final = 40.0
PAUSE: Final = 0.02
TRIED_IN_VAIN: Final = 3
"""A row of the outbox that was tried so often will not be done before something else happens."""
CLOSED: Final = frozenset({RPCStatusCode.FAILED_PRECONDITION, RPCStatusCode.NOT_FOUND})
"""The run was closed under our hands: the next try finds another one."""


@dataclass
class Running:
    """An installation whose workflows, relay and bridges run."""

    here: Installation
    pod: Pod

    @property
    def world(self) -> Any:
        """Its database as tests see it."""
        return self.here.world


class WorkflowProject:
    """One project with all its pipelines."""

    def __init__(self, running: Running, project_id: int, case: Case) -> None:
        """See `opened`."""
        self._running = running
        self._world = running.world
        self._pod = running.pod
        self._project_id = project_id
        self._case = case
        self._roots: dict[int, str] = {}

    async def begin(self) -> None:
        """Come to rest for the first time."""
        await self._rest()

    async def create(self, key: str, sha: str) -> None:
        """Create a pipeline of the newest commit, as a push does."""
        wish = PipelineRequest(
            project_id=self._project_id, ref="main", sha=sha, user_id=self._world.user_id, source="push"
        )
        services = self._running.here.site.services
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
        await self._rest()
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
        rows = await self._unsent(list(keys))
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

    async def _target(self, event: Event) -> Record | None:
        ids = {key: pipeline_id for pipeline_id, key in (await self._keys()).items()}
        if not event.job or event.run not in ids:
            return None
        which = {"attempt": event.attempt} if event.attempt else {"retried": False}
        return await self._world.row(job, pipeline_id=ids[event.run], name=event.job, **which)

    async def _fact(self, event: Event, row: Record | None) -> bool:
        if event.kind == "newer_commit":
            await self.create(event.run, await self._push(event.run))
            return True
        if row is None:
            return False
        if event.kind == "run":
            return await self._run(row, graceful=event.graceful)
        if event.kind == "due":
            return await self._become_due(row)
        failed = event.kind == "drop"
        async with self._world.database.write() as connection:
            ended = await verdicts.end_jobs(
                connection,
                [row.id],
                Status.FAILED if failed else Status.SUCCESS,
                self._world.now(),
                reason=event.reason if failed else "",
                exit_code=event.code if failed else 0,
            )
        return ended == [row.id]

    async def _push(self, name: str) -> str:
        """A newer commit with another configuration; its sha."""
        tree = self._running.here.folder / f"tree-{self._project_id}"
        sha = await new_commit(tree, {".gitlab-ci.yml": _text(self._case.files[name])}, "Newer")
        repositories = self._running.here.site.services.repositories
        await git("push", "-q", repositories.path(self._project_id), "main", cwd=tree)
        return sha

    async def _run(self, row: Record, *, graceful: bool) -> bool:
        """A runner takes this very job: nobody else may be given it, and nothing else be given to that runner."""
        if row.status != Status.PENDING:
            return False
        tag = f"only-{row.id}"
        async with self._world.database.write() as connection:
            owner = await projects.find(connection, self._project_id)
            protected = (
                await connection.execute(select(pipeline.c.ref_protected).where(pipeline.c.id == row.pipeline_id))
            ).scalar_one()
            (alone,) = (await demands.ensure(connection, owner, [[tag]], protected=protected)).values()
            await connection.execute(update(entry).where(entry.c.job_id == row.id).values(demand_id=alone))
        async with self._world.database.write() as connection:
            values = {"tags": [tag], "run_untagged": False}
            runner_id = await runners.create(connection, str(uuid4()), self._world.now(), **values)
            claim = self._world.runner(runner_id=runner_id, cancel_gracefully=graceful)
            taken = await hand_out(connection, claim, self._world.now())
            if taken is None:
                return False
            assert taken[0] == row.id
            return await touch(connection, *taken)

    async def _become_due(self, row: Record) -> bool:
        """The clock of the test: rewrite the time, and have SQL read again."""
        past = self._world.now() - timedelta(hours=2)
        scheduled = update(job).where(job.c.id == row.id, job.c.status == Status.SCHEDULED).values(due_at=past)
        async with self._world.database.write() as connection:
            await connection.execute(scheduled)
            await outbox.put(
                connection,
                outbox.COMMAND,
                row.pipeline_id,
                self._world.now(),
                payload={"name": "reconcile", "key": str(uuid4())},
            )
        return True

    async def _command(self, event: Event, job_id: int | None) -> bool:
        """Whether it was accepted; a pipeline that does not want it is as good as one that does nothing."""
        ids = {key: pipeline_id for pipeline_id, key in (await self._keys()).items()}
        if event.run not in ids:
            return False
        async with self._world.database.read() as connection:
            facts = (await pipelines.facts_of(connection, [ids[event.run]]))[ids[event.run]]
        operation = Operation(str(uuid4()), job_id)
        for last in (False, False, False, True):
            try:
                await self._pod.pipelines.ask(facts, COMMANDS[event.kind], operation, ANSWERS_WITHIN)
            except WorkflowUpdateFailedError:
                return not event.job
            except RPCError as error:
                if last or error.status not in CLOSED:
                    raise
            else:
                return True
        return False

    async def _unsent(self, ids: Sequence[int]) -> list[Record]:
        """Rows of the outbox that are not done; a bell that rang is."""
        statement = select(outbox_table).where(outbox_table.c.pipeline_id.in_(ids), outbox_table.c.sent_at.is_(None))
        async with self._world.database.read() as connection:
            return list((await connection.execute(statement)).all())

    async def _rest(self) -> None:
        """Wait until nothing is on its way: two looks in a row find nothing, and the same lengths of all histories."""
        deadline = asyncio.get_running_loop().time() + RESTS_WITHIN
        before: object = None
        while True:
            busy, lengths = await self._look()
            if not busy and lengths == before:
                return
            if asyncio.get_running_loop().time() > deadline:
                raise TimeoutError(f"after {RESTS_WITHIN:g} s still not at rest: {busy}")
            before = None if busy else lengths
            await asyncio.sleep(PAUSE)

    async def _look(self) -> tuple[str, dict[str, int]]:
        """What is on its way, and the lengths of the histories."""
        ids = list(await self._keys())
        for row in await self._unsent(ids):
            if row.attempts < TRIED_IN_VAIN:
                return f"{row.kind} of pipeline {row.pipeline_id}: {row.error}", {}
        groups = [row.id for row in await self._world.rows(group, project_id=self._project_id)]
        for group_id in groups:
            async with self._world.database.read() as connection:
                seen = await resource_groups.situation(connection, group_id)
            if seen is not None and choose(seen.mode, seen.is_free, seen.candidates) is not None:
                return f"the slot of group {group_id} is wanted", {}
        lengths = {}
        for name in (*map(workflow_id, ids), *map(group_workflow_id, groups)):
            described = await self._describe(name)
            if described is None:
                continue
            if what := _does(described):
                return f"{name}: {what}", {}
            lengths[name] = described.workflow_execution_info.history_length
        return "", lengths

    async def _describe(self, name: str) -> DescribeWorkflowExecutionResponse | None:
        try:
            return (await self._pod.client.get_workflow_handle(name).describe()).raw_description
        except RPCError as error:
            if error.status is RPCStatusCode.NOT_FOUND:
                return None
            raise


def _does(described: DescribeWorkflowExecutionResponse) -> str:
    """What a workflow has still to do by itself."""
    if described.HasField("pending_workflow_task"):
        return "has a task"
    names = {activity.activity_type.name for activity in described.pending_activities} - {"await_job"}
    return f"waits for {names}" if names else ""


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
        running = await stack.enter_async_context(_running(folder, address, url))
        numbers = count(1)

        async def open_project(case: Case) -> Project:
            return await opened(running, case, f"case-{next(numbers)}")

        yield open_project


async def opened(running: Running, case: Case, name: str) -> Project:
    """A project with the files of a case, and its first pipeline."""
    files = {path: _text(config) for path, config in case.files.items() if path != LATER}
    project_id = await running.here.project(name, {".gitlab-ci.yml": _text(case.config), **files})
    await _set_modes(running, project_id, case)
    project = WorkflowProject(running, project_id, case)
    tree = running.here.folder / f"tree-{project_id}"
    await project.create(ROOT, await git("rev-parse", "HEAD", cwd=tree))
    return project


async def _set_modes(running: Running, project_id: int, case: Case) -> None:
    named = {one.group for config in (case.config, *case.files.values()) for one in plan_of(config).jobs if one.group}
    async with running.world.database.write() as connection:
        made = await resource_groups.ensure(connection, project_id, named, running.world.now())
        for key, group_id in made.items():
            mode = ProcessMode(case.modes.get(key, "unordered"))
            await resource_groups.set_mode(connection, group_id, mode, running.world.now())


@asynccontextmanager
async def _running(folder: Path, address: str, url: str) -> AsyncIterator[Running]:
    """Everything that runs in production but doors and runners."""
    async with open_installation(folder, url) as here:
        services = here.site.services
        settings = services.settings.model_copy(update={"temporal_address": address})
        pod = Pod(here.world, settings)
        pod.notifications = services.notifications
        await pod.join(await new_namespace(address))
        services.temporal.connected = pod.pipelines
        await pod.start()
        loop = asyncio.create_task(here.loop.run())
        try:
            yield Running(here, pod)
        finally:
            loop.cancel()
            with suppress(asyncio.CancelledError):
                await loop
            await pod.close()
