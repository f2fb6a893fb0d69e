"""Workflow `ResourceGroup`: chooses who gets the slot of a resource group next, and tells that pipeline.

It holds nothing: the slot is a row, taken by the pipeline that was told. So this may be killed, terminated or run twice
without harm, and ends as soon as nobody waits; the next `look` starts it again (docs/seam.md, "Resource groups").
"""

from datetime import datetime, timedelta

from temporalio import workflow
from temporalio.exceptions import ApplicationError

with workflow.unsafe.imports_passed_through():
    from domain.messages import ChooseNext, Chosen, GroupInput, Operation
    from workflows.await_job import workflow_id
    from workflows.ports import RECORD_LIMIT, RECORD_RETRY, GroupPort

LOOK_AGAIN = timedelta(minutes=1)
"""While anybody waits SQL is read so often without having been asked. Who has not taken the slot is passed over."""


def group_workflow_id(group_id: int) -> str:
    """The id of a resource group's workflow."""
    return f"resource-group-{group_id}"


@workflow.defn(name="ResourceGroup")
class ResourceGroupWorkflow:
    """One resource group, for as long as a job waits for its slot."""

    @workflow.init
    def __init__(self, order: GroupInput) -> None:
        """Exist before the first message arrives."""
        self._order = order
        self._is_asked = False
        self._told: dict[int, datetime] = {}

    @workflow.signal(description="Look now who comes next; does no harm at any time.")
    def look(self) -> None:
        """Something changed: a job began to wait, ended, or the mode is another one."""
        self._is_asked = True

    @workflow.run
    async def run(self, order: GroupInput) -> None:
        """Look until nobody waits."""
        while True:
            self._is_asked = False
            waiting = await self._pass_on()
            if not waiting and not self._is_asked:
                return
            if workflow.info().is_continue_as_new_suggested():
                workflow.continue_as_new(order)  # which looks first of all: what was asked meanwhile is not lost
            await self._wait()

    async def _pass_on(self) -> bool:
        """Tell the one whose turn it is; whether anybody waits."""
        unreachable = self._silent()
        while True:
            chosen = await self._choose(unreachable)
            if chosen.pipeline_id is None or chosen.job_id is None:
                if not unreachable:
                    self._told.clear()
                return chosen.waiting
            if await self._is_told(chosen.pipeline_id, chosen.job_id):
                return True
            unreachable += (chosen.job_id,)

    def _silent(self) -> tuple[int, ...]:
        """Who was told long ago and is passed over in this round; in the next one they are told again."""
        now = workflow.now()
        silent = tuple(job_id for job_id, told in self._told.items() if now - told >= LOOK_AGAIN)
        for job_id in silent:
            del self._told[job_id]
        return silent

    async def _choose(self, unreachable: tuple[int, ...]) -> Chosen:
        return await workflow.execute_local_activity_method(
            GroupPort.choose_next,
            ChooseNext(self._order.group_id, unreachable),
            start_to_close_timeout=RECORD_LIMIT,
            retry_policy=RECORD_RETRY,
            summary="choose who comes next",
        )

    async def _is_told(self, pipeline_id: int, job_id: int) -> bool:
        """Whether the pipeline's workflow is there to be told."""
        pipeline = workflow.get_external_workflow_handle(workflow_id(pipeline_id))
        try:
            await pipeline.signal("resource_granted", Operation(job_id=job_id).as_sent())
        except ApplicationError:
            return False
        self._told.setdefault(job_id, workflow.now())
        return True

    async def _wait(self) -> None:
        try:
            await workflow.wait_condition(
                lambda: self._is_asked, timeout=LOOK_AGAIN, timeout_summary="look again although nobody asked"
            )
        except TimeoutError:
            return
