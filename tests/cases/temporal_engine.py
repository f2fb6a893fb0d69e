"""Engine `temporal`: real workflows on a real Temporal server, a real database, the real relay; runners are played.

One server, one worker and one database serve all scenarios; each has a project and a pipeline of its own.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final
from uuid import uuid4

from temporalio.client import WorkflowUpdateFailedError, WorkflowUpdateStage
from temporalio.exceptions import TemporalError
from temporalio.worker import Worker

from domain.config.plan import Plan
from domain.errors import Refused, Unavailable
from domain.messages import Answer, Operation
from domain.pipelines.status import Status
from domain.pipelines.verdict import SCRIPT_FAILURE
from models.clock import system_clock
from models.notifications import OUTBOX
from models.repositories.namespaces import namespaces
from models.repositories.pipelines import invariants, pipelines, verdicts
from models.repositories.pipelines.pipelines import PipelineRequest
from models.repositories.projects import projects
from settings import Settings, TimeLimits
from tests.cases.case_rows import CaseRows
from tests.cases.engine import COMMANDS, Begin, Engine
from tests.cases.scenario import State
from tests.cases.watched_pipeline import WatchedPipeline
from tests.models.world import job
from tests.temporal import temporal_server
from tests.workflows.pod import ANSWERS_WITHIN, Pod, pod_with_database
from workflows.pipeline import PipelineWorkflow

ENDS: Final[Mapping[str, Status]] = {"success": Status.SUCCESS, "drop": Status.FAILED}
"""Events that are verdicts of a runner."""


class CasePod(Pod):
    """A pod whose pipelines can be watched."""

    def worker_of(self, queue: str) -> Worker:
        """A worker like that of the product, with `WatchedPipeline` in the place of its pipelines."""
        parts: dict[str, Any] = {**super().worker_of(f"{queue}-spare").config()}
        rows = CaseRows(self.world.database)
        parts["task_queue"] = queue
        parts["activities"] = [*parts["activities"], rows.on_its_way, rows.skip, rows.due]
        parts["workflows"] = [WatchedPipeline if one is PipelineWorkflow else one for one in parts["workflows"]]
        return Worker(**parts)


class TemporalEngine:
    """One pipeline with a workflow of its own. Raises `Refused` where the product refuses."""

    def __init__(self, pod: Pod, pipeline_id: int) -> None:
        """See `begin`."""
        self._pod = pod
        self._pipeline_id = pipeline_id

    async def begin(self) -> None:
        """Wait until what follows from the creation has followed."""
        await self._ask("settled")

    async def apply(self, event: str, names: tuple[str, ...], arguments: Mapping[str, Any]) -> None:
        """Let an event happen to each job in turn; what follows is decided when all have happened."""
        ids = [await self._latest(name) for name in names]
        if len(ids) > 1:
            await self._ask("hold")
        if event in COMMANDS:
            await self._command(COMMANDS[event], ids or [None])
            return
        if event == "run":
            await self._run(names, graceful=bool(arguments.get("graceful")))
        elif event in ENDS:
            await self._end(ids, ENDS[event], arguments)
        else:
            for job_id in ids:
                await self._ask(event, job_id)
        await self._ask("settled")

    async def state(self) -> State:
        """Rows as SQL has them."""
        world = self._pod.world
        return State(
            await world.status(self._pipeline_id),
            await world.stages(self._pipeline_id),
            await world.statuses(self._pipeline_id),
        )

    async def faults(self) -> list[str]:
        """The rules that SQL breaks now that the workflow rests."""
        world = self._pod.world
        async with world.database.read() as connection:
            found = await invariants.broken(connection, world.now(), pipeline_id=self._pipeline_id, at_rest=True)
        return [one.sentence for one in found]

    async def _latest(self, name: str) -> int:
        row = await self._pod.world.row(job, pipeline_id=self._pipeline_id, name=name, retried=False)
        return int(row.id)

    async def _command(self, name: str, targets: Sequence[int | None]) -> None:
        """One after the other: where several are asked for, they are answered together when the workflow goes on."""
        if len(targets) == 1:
            await self._ask(name, targets[0])
            await self._ask("settled")
            return
        handle = self._pod.handle(self._pipeline_id)
        asked = [
            await handle.start_update(
                name,
                Operation(str(uuid4()), target).as_sent(),
                wait_for_stage=WorkflowUpdateStage.ACCEPTED,
                result_type=Answer,
                rpc_timeout=ANSWERS_WITHIN,
            )
            for target in targets
        ]
        await self._ask("settled")
        for one in asked:
            await self._answer_of(one.result(rpc_timeout=ANSWERS_WITHIN), name)

    async def _run(self, names: Sequence[str], *, graceful: bool) -> None:
        """Each job is taken by a runner of its own, which has only the tag of that job."""
        world = self._pod.world
        for name in names:
            row = await world.row(job, pipeline_id=self._pipeline_id, name=name, retried=False)
            taken = await world.take_as_new(row.tags, graceful=graceful)
            assert taken == row.id, f"a runner was given job {taken}, not {name}, which is {row.status}"

    async def _end(self, ids: Sequence[int], status: Status, arguments: Mapping[str, Any]) -> None:
        """Verdicts of one moment; a job that no runner has taken may get one as well."""
        world = self._pod.world
        failed = status is Status.FAILED
        async with world.database.write() as connection:
            ended = await verdicts.end_jobs(
                connection,
                ids,
                status,
                world.now(),
                reason=arguments.get("failure_reason", SCRIPT_FAILURE) if failed else "",
                exit_code=arguments.get("exit_code") if failed else 0,
            )
        assert sorted(ended) == sorted(ids), f"of jobs {list(ids)} only {ended} were pending or running"
        await self._pod.notifications.notify(OUTBOX)

    async def _ask(self, name: str, job_id: int | None = None) -> None:
        """Send an update and wait for its answer; a workflow that is closed is started for it."""
        await self._answer_of(self._pod.ask_again(self._pipeline_id, name, job_id), name)

    async def _answer_of(self, asked: Any, name: str) -> None:
        try:
            await asked
        except WorkflowUpdateFailedError as error:
            raise Refused(f"{name}: {error.cause}") from error
        except TemporalError as error:
            raise Unavailable(f"{name} had no answer: {error}. The jobs are {await self.state()}.") from error


@asynccontextmanager
async def temporal_engine() -> AsyncIterator[Begin]:
    """Start a Temporal server and a pod on it, both in a temporary folder."""
    with TemporaryDirectory(prefix="perdure-cases-") as folder:
        async with AsyncExitStack() as stack:
            address = await stack.enter_async_context(temporal_server(Path(folder)))
            times = TimeLimits(retry_window=0)
            settings = Settings(home=Path(folder), temporal_address=address, task_queue="cases", times=times)
            pod = await stack.enter_async_context(pod_with_database(CasePod, settings))
            numbers = count(1)

            async def begin(plan: Plan) -> Engine:
                engine = TemporalEngine(pod, await _create(pod, plan, next(numbers)))
                await engine.begin()
                return engine

            yield begin


async def _create(pod: Pod, plan: Plan, number: int) -> int:
    """A project and a pipeline of a scenario's own. Each job has a tag of its own, so that a runner can ask for it."""
    tagged = replace(plan, jobs=tuple(replace(one, tags=(f"{number} {one.name}",)) for one in plan.jobs))
    world, now = pod.world, system_clock()
    async with world.database.write() as connection:
        owner = await namespaces.get_by(connection, path="acme")
        project_id = await projects.create_project(
            connection, owner, f"case-{number}", f"Case {number}", world.user_id, now, default_branch="master"
        )
        request = PipelineRequest(project_id, world.user_id, "master", "c0ffee00", "push")
        pipeline_id = await pipelines.create(connection, request, tagged, now, seal=str)
    await pod.notifications.notify(OUTBOX)
    return pipeline_id
