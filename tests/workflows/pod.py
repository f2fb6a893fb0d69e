"""A pod without API: database, relay, reconciler and worker run for real, the test is every runner and every user."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from itertools import count
from pathlib import Path
from textwrap import dedent
from typing import Any, TypeVar
from uuid import uuid4

from sqlalchemy import update
from temporalio.api.sdk.v1 import WorkflowMetadata
from temporalio.client import AsyncActivityHandle, WorkflowExecutionStatus, WorkflowHandle
from temporalio.service import RPCError, RPCStatusCode

from application.installation.identity import identity_given
from domain.messages import Answer, Operation
from domain.pipelines.status import Status
from models.clock import system_clock
from models.notifications import OUTBOX, Notifications
from models.repositories.installation import installations
from models.repositories.pipelines import pipelines
from models.repositories.pipelines.pipelines import PipelineRequest
from models.session import Database
from settings import Settings, TimeLimits
from tests.compiling import plan_of
from tests.models.database import migrated
from tests.models.world import job, outbox_table, pipeline, touch
from tests.waiting import eventually
from tests.workflows.pod_parts import PodParts, RealTime
from workflows.await_job import activity_id, workflow_id
from workflows.pipeline import PipelineWorkflow

NUMBERS = count(1)
"""Each pod of a run has a block of ids of its own, so that all can share a namespace."""

ANSWERS_WITHIN = timedelta(seconds=60)
"""Longer than any update may take on a busy machine."""
MAX_ATTEMPTS = 4
CLOSED = frozenset({RPCStatusCode.FAILED_PRECONDITION, RPCStatusCode.NOT_FOUND})
"""What an update is told whose run is closed."""
SHORT = TimeLimits(reconcile_every=0.1, outbox_not_found=0.5, retry_window=0)
CLOSED_AS = {
    "success": WorkflowExecutionStatus.COMPLETED,
    "skipped": WorkflowExecutionStatus.COMPLETED,
    "failed": WorkflowExecutionStatus.FAILED,
    "canceled": WorkflowExecutionStatus.CANCELED,
}
"""How the workflow of a pipeline closes."""


PodT = TypeVar("PodT", bound="Pod")


class Pod(PodParts):
    """What a test does with a pod. Times are waited for by looking, never by sleeping."""

    def __init__(self, world: RealTime, settings: Settings, notifications: Notifications | None = None) -> None:
        """Take what others made; nothing runs before `working`."""
        super().__init__(world, settings, notifications)
        self._held: dict[str, int] = {}

    async def create(self, config: str, variables: Sequence[dict[str, str]] = ()) -> int:
        """Create a pipeline, as a push would."""
        request = PipelineRequest(
            self.world.project_id, self.world.user_id, "main", "c0ffee00", "push", variables=tuple(variables)
        )
        async with self.world.database.write() as connection:
            made = await pipelines.create(connection, request, plan_of(dedent(config)), system_clock(), seal=str)
        await self.notifications.notify(OUTBOX)
        return made

    async def take(self, name: str, **runner: Any) -> int:
        """Hold the job of that name, as soon as there is one for a runner; its id. Others are held on the way."""

        async def look() -> bool:
            while name not in self._held and (taken := await self.world.claim(**runner)) is not None:
                async with self.world.database.write() as connection:
                    await touch(connection, *taken)
                self._held[(await self.world.row(job, id=taken[0])).name] = taken[0]
            return name in self._held

        await eventually(look, f"job {name} is offered")
        return self._held.pop(name)

    async def end(self, job_id: int, status: Status = Status.SUCCESS, reason: str = "", **values: Any) -> None:
        """Say what became of a job."""
        reason = reason or ("script_failure" if status is Status.FAILED else "")
        assert await self.world.end(job_id, status, reason=reason, **values) == [job_id]
        await self.notifications.notify(OUTBOX)

    async def run(self, name: str, status: Status = Status.SUCCESS) -> int:
        """Take a job and end it; its id."""
        job_id = await self.take(name)
        await self.end(job_id, status)
        return job_id

    async def ask(
        self, pipeline_id: int, name: str, job_id: int | None = None, key: str = "", **variables: str
    ) -> Answer:
        """Send an update and wait for its response."""
        async with self.world.database.read() as connection:
            facts = (await pipelines.facts_of(connection, [pipeline_id]))[pipeline_id]
        operation = Operation(key or str(uuid4()), job_id, variables)
        return await self.pipelines.ask(facts, name, operation, ANSWERS_WITHIN)

    async def ask_again(self, pipeline_id: int, name: str, job_id: int | None = None) -> Answer:
        """As `ask`; where the run was closed under our hands, the next try finds another one."""
        key = str(uuid4())
        for _ in range(MAX_ATTEMPTS - 1):
            try:
                return await self.ask(pipeline_id, name, job_id, key)
            except RPCError as error:
                if error.status not in CLOSED:
                    raise
        return await self.ask(pipeline_id, name, job_id, key)

    def handle(self, pipeline_id: int) -> WorkflowHandle[PipelineWorkflow, str]:
        """The latest run of the pipeline's workflow."""
        return self.pipelines.handle(pipeline_id)

    def activity(self, pipeline_id: int, job_id: int) -> AsyncActivityHandle:
        """The activity that waits for a job, as somebody with the Temporal Web UI has it."""
        return self.client.get_async_activity_handle(
            workflow_id=workflow_id(pipeline_id), run_id=None, activity_id=activity_id(job_id)
        )

    async def until(self, pipeline_id: int, **expected: str) -> None:
        """Wait until the latest attempts of these jobs have these statuses."""

        async def look() -> bool:
            found = await self.world.statuses(pipeline_id)
            return all(found[name] == status for name, status in expected.items())

        try:
            await eventually(look, f"{expected}")
        except TimeoutError as error:
            raise TimeoutError(f"{error} They are {await self.world.statuses(pipeline_id)}.") from error

    async def rests(self, pipeline_id: int) -> str:
        """Wait until the pipeline has ended in SQL and its workflow waits for retries; its status."""

        async def look() -> bool:
            # A retry is in SQL some ms before Temporal shows that the workflow is at work again.
            has_ended = await self.world.status(pipeline_id) in CLOSED_AS
            return has_ended and "takes signals" in await self.details(pipeline_id)

        await eventually(look, f"the workflow of pipeline {pipeline_id} waits for retries")
        return await self.world.status(pipeline_id)

    async def at_work(self, pipeline_id: int) -> None:
        """Until Temporal shows that a workflow waits for a retry no more: some ms after it has answered one.

        A reconciler that looks in between tells it what SQL says, which changes nothing.
        """

        async def look() -> bool:
            run = await self.pipelines.runs.latest(pipeline_id)
            at_work = run is not None and run.is_open and not run.in_window
            return at_work and "takes signals" not in await self.details(pipeline_id)

        await eventually(look, f"the workflow of pipeline {pipeline_id} is at work")

    async def details(self, pipeline_id: int) -> str:
        """What Temporal's pages show as the current details of the workflow."""
        metadata: WorkflowMetadata = await self.handle(pipeline_id).query(
            "__temporal_workflow_metadata", result_type=WorkflowMetadata
        )
        return metadata.current_details

    async def ended(self, pipeline_id: int) -> str:
        """Wait until the pipeline has ended in SQL and its workflow is closed as it should be; its status."""

        async def look() -> bool:
            closed_as = CLOSED_AS.get(await self.world.status(pipeline_id))
            return closed_as is not None and await self.state(pipeline_id) is closed_as

        try:
            await eventually(look, f"pipeline {pipeline_id} has ended")
        except TimeoutError as error:
            seen = await self.world.status(pipeline_id), await self.world.statuses(pipeline_id)
            raise TimeoutError(f"{error} It is {seen}, its workflow {await self.state(pipeline_id)}.") from error
        return await self.world.status(pipeline_id)

    async def state(self, pipeline_id: int) -> WorkflowExecutionStatus | None:
        """What Temporal says of the latest run; None when it knows of none."""
        try:
            return (await self.handle(pipeline_id).describe()).status
        except RPCError as error:
            if error.status is RPCStatusCode.NOT_FOUND:
                return None
            raise

    async def unsent(self) -> list[str]:
        """Kinds of the outbox rows that are left."""
        return [row.kind for row in await self.world.rows(outbox_table)]

    async def terminate(self, pipeline_id: int) -> None:
        """Terminate a workflow by hand; returns when Temporal lists it as closed, which comes a moment later.

        That it is listed as running may come late too, so that is awaited first.
        """

        async def is_listed() -> bool:
            return pipeline_id in await self.pipelines.runs.at_work()

        async def is_gone() -> bool:
            return not await is_listed()

        await eventually(is_listed, "the workflow is listed as running")
        await self.handle(pipeline_id).terminate("by hand")
        await eventually(is_gone, "the workflow is listed as closed")

    async def reconcile(self, pipeline_id: int) -> list[int]:
        """Let a pipeline look as if it were made long ago, then reconcile: young ones are left to those who start them.

        Without that it is a matter of the machine's speed whether a round finds a pipeline of a moment ago.
        """
        async with self.world.database.write() as connection:
            long_ago = system_clock() - timedelta(hours=1)
            await connection.execute(update(pipeline).where(pipeline.c.id == pipeline_id).values(created_at=long_ago))
        return await self.reconciler.reconcile()


@asynccontextmanager
async def running_pod(address: str, home: Path, **times: float) -> AsyncIterator[Pod]:
    """A pod on the Temporal server at `address`, its database in `home`; `times` are fields of `TimeLimits`.

    Without `retry_window` the workflow of a pipeline closes when its pipeline has ended.
    """
    number = next(NUMBERS)
    settings = Settings(
        home=home,
        pod_number=number,
        temporal_address=address,
        task_queue=f"pipelines-{number}",
        times=SHORT.model_copy(update=times),
        workflow_sandbox=True,
    )
    async with pod_with_database(Pod, settings) as pod:
        yield pod


@asynccontextmanager
async def pod_with_database(kind: type[PodT], settings: Settings) -> AsyncIterator[PodT]:
    """A running pod of this kind with a database of its own."""
    async with migrated(Database(settings.database)) as database:
        async with database.write() as connection:
            await installations.ensure(connection, identity_given(settings), system_clock())
        pod = kind(await RealTime.make(database), settings)
        async with pod.working():
            yield pod
