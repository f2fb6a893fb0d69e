"""Workflow `Pipeline` as scenarios see it: the real one, and a few updates by which a test holds and questions it."""

from typing import Any

from temporalio import workflow
from temporalio.exceptions import ApplicationError

with workflow.unsafe.imports_passed_through():
    from datetime import timedelta

    from domain.messages import Answer, Operation, PipelineInput
    from domain.pipelines.status import Status
    from workflows.pipeline import PipelineWorkflow

_LOOK = timedelta(seconds=30)


@workflow.defn(name="Pipeline")
class WatchedPipeline(PipelineWorkflow):
    """Decides and records as its parent does. Only test workers know it."""

    @workflow.init
    def __init__(self, order: PipelineInput) -> None:
        """Exist before the first message arrives; nobody holds it."""
        super().__init__(order)
        self._held = False
        self._at_rest = False

    @workflow.run
    async def run(self, order: PipelineInput) -> str:
        """As the parent."""
        return await super().run(order)

    async def _turn(self) -> bool:
        """A turn of the parent, as soon as nobody holds it back."""
        self._at_rest = False
        await workflow.wait_condition(lambda: not self._held)
        decided = await super()._turn()
        self._at_rest = not decided
        return decided

    @workflow.update
    async def hold(self, operation: Operation) -> Answer:
        """Decide nothing until `settled` is asked: what arrives meanwhile is looked at in one turn."""
        self._held = True
        return Answer(operation.key, "hold")

    @workflow.update
    async def settled(self, operation: Operation) -> Answer:
        """Go on, and answer when nothing is on its way and nothing follows any more."""
        await workflow.wait_condition(lambda: self._pipeline is not None)
        await self._hear_all((await self._look())["ended"])
        self._held = False
        await workflow.wait_condition(self._rests)
        while await self._has_more_to_come():
            await workflow.wait_condition(self._rests)
        return Answer(operation.key, "settled")

    @workflow.update
    async def skip(self, operation: Operation) -> Answer:
        """Skip a job that is created or pending."""
        return await self._rewrite("skip", operation)

    @workflow.update
    async def due(self, operation: Operation) -> Answer:
        """Let the time of a scheduled job have come."""
        return await self._rewrite("due", operation)

    async def _rewrite(self, name: str, operation: Operation) -> Answer:
        """Let SQL be changed, then read it."""
        if not await self._ask_rows(name, operation.job_id):
            raise ApplicationError(f"Job {operation.job_id} is in no state for {name}.", type="Refused")
        self._reload = True
        return Answer(operation.key, name, operation.job_id)

    async def _has_more_to_come(self) -> bool:
        """Wait for what is still on its way; false if there is nothing."""
        seen = await self._look()
        news = [job_id for job_id in seen["ended"] if not self._has_heard_of(job_id)]
        await self._hear_all(news)
        if waiting := seen["promised"]:
            await workflow.wait_condition(lambda: not all(map(self._waits_for_slot, waiting)))
        return bool(news or waiting)

    async def _hear_all(self, ended: list[int]) -> None:
        """Wait until the ends of these jobs came in."""
        await workflow.wait_condition(lambda: all(map(self._has_heard_of, ended)))

    async def _look(self) -> dict[str, list[int]]:
        seen: dict[str, list[int]] = await self._ask_rows("on_its_way", self._order.pipeline_id)
        return seen

    async def _ask_rows(self, name: str, argument: int | None) -> Any:
        return await workflow.execute_local_activity(name, argument, start_to_close_timeout=_LOOK)

    def _has_heard_of(self, job_id: int) -> bool:
        """Whether the end of a job came in, not only what SQL told of its row."""
        return job_id in self._verdicts or job_id in self._folded

    def _waits_for_slot(self, job_id: int) -> bool:
        job = self._state.job(job_id)
        return job is not None and job.status is Status.WAITING_FOR_RESOURCE

    def _rests(self) -> bool:
        return self._at_rest and not self._held and not self._is_asked()
