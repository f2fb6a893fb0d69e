"""How the workflow of a pipeline that is over closes: at once, or after a window in which it still takes commands.

A pipeline that failed or was canceled leaves its workflow open for the window, so that a plain signal retries it. It
holds nothing meanwhile: no job, no slot, no waiting room; one timer. The window counts from the end that SQL has, so a
run that was continued, reset or started again has the same one; a Temporal that has lost everything has none, and
commands start the workflow again.
"""

import asyncio
from collections.abc import Callable

from temporalio import workflow
from temporalio.exceptions import ApplicationError, ApplicationErrorCategory

with workflow.unsafe.imports_passed_through():
    from datetime import datetime, timedelta

    from domain.messages import Answer, AskWindow
    from domain.pipelines.operation_input import BY_PEOPLE
    from domain.pipelines.pipeline import Pipeline
    from domain.pipelines.retry_window import UNSUCCESSFUL, what_happened, what_may_be_done
    from domain.pipelines.status import Status
    from workflows import search_attributes
    from workflows.ports import RECORD_LIMIT, RECORD_RETRY, PipelinePort

_SETTLED = timedelta(minutes=1)


class RetryWindow:
    """The window of one run of a pipeline's workflow.

    `is_known` is what `load` has said: workflows whose history is of before complete whatever became of their pipeline.
    It is no patch, since the SDK may look for a patch's marker before the workflow task that wrote it, if local
    activities come first.
    """

    def __init__(self, is_asked: Callable[[], bool]) -> None:
        """`is_asked` says whether something has come in that the loop has to look at first."""
        self._is_asked = is_asked
        self.is_known = False
        self._until: datetime | None = None
        self._refused = ""
        self._is_waived = False
        self.is_cancel_requested = False

    @property
    def is_open(self) -> bool:
        """Whether the workflow waits for nothing but commands."""
        return self._until is not None

    @property
    def is_waived(self) -> bool:
        """Whether somebody wants no window."""
        return self._is_waived

    def left(self) -> timedelta | None:
        """How long the window still lasts; None while there is none."""
        return None if self._until is None else max(self._until - workflow.now(), timedelta(0))

    def cancel(self) -> bool:
        """Temporal was asked to cancel the workflow: an open window ends. Whether there was one."""
        self.is_cancel_requested = True
        self._is_waived = self._is_waived or self.is_open
        return self.is_open

    @property
    def versioning(self) -> workflow.ContinueAsNewVersioningBehavior | None:
        """Which build of the workers the next run begins on: what waits for a person must not keep an old one alive."""
        return workflow.ContinueAsNewVersioningBehavior.AUTO_UPGRADE if self.is_open else None

    def is_outdated(self) -> bool:
        """Whether the window is open on a build of the workers that is not the current one any more.

        A run that has just been continued stays where it is: somebody may have pinned it by hand.
        """
        info = workflow.info()
        if not self.is_open or not info.is_target_worker_deployment_version_changed():
            return False
        return info.continued_run_id is None or workflow.now() - info.start_time > _SETTLED

    def note(self, answer: Answer) -> None:
        """Remember what was refused: whoever sent a signal reads it in the details."""
        if answer.name in BY_PEOPLE:
            self._refused = answer.refused

    def leave(self) -> None:
        """The pipeline goes on."""
        if self._until is not None:
            self._until, self._is_waived, self._refused = None, False, ""
            workflow.set_current_details("")

    def raise_end(self, pipeline: Pipeline) -> None:
        """Close as what became of the pipeline: benign, since a pipeline that fails is no fault of the server's."""
        if not self._applies(pipeline.status):
            return
        if pipeline.status is Status.CANCELED:
            raise asyncio.CancelledError(what_happened(pipeline))
        raise ApplicationError(
            what_happened(pipeline), type="PipelineFailed", non_retryable=True, category=ApplicationErrorCategory.BENIGN
        )

    def _applies(self, status: Status) -> bool:
        return self.is_known and status in UNSUCCESSFUL

    async def is_over(self, pipeline: Pipeline) -> bool:
        """Whether the workflow of a pipeline that is over may close now; nothing may have come in meanwhile."""
        if not self._applies(pipeline.status):
            workflow.set_current_details(self._refusal())
            return True
        if self._until is None:
            self._until = await self._ask(pipeline.id)
            search_attributes.show(pipeline.status)
        workflow.set_current_details(what_may_be_done(pipeline, self._until, self._refusal()))
        if self.left() and not self._is_waived:
            return False
        if pipeline.status is Status.CANCELED and not self.is_cancel_requested:
            await self._request_cancellation()
        if self._is_asked():
            return False
        workflow.set_current_details("\n\n".join(filter(None, [what_happened(pipeline), self._refusal()])))
        return True

    def _refusal(self) -> str:
        return f"The last command was refused: {self._refused}" if self._refused else ""

    async def _ask(self, pipeline_id: int) -> datetime:
        window = await workflow.execute_local_activity_method(
            PipelinePort.retry_window,
            AskWindow(pipeline_id),
            start_to_close_timeout=RECORD_LIMIT,
            retry_policy=RECORD_RETRY,
            summary="until when it may be retried",
        )
        return window.until

    async def _request_cancellation(self) -> None:
        """Temporal lets only a workflow that was asked to cancel close as canceled."""
        await workflow.execute_local_activity_method(
            PipelinePort.request_cancellation,
            start_to_close_timeout=RECORD_LIMIT,
            retry_policy=RECORD_RETRY,
            summary="close as canceled",
        )
        await workflow.wait_condition(lambda: self.is_cancel_requested or self._is_asked())
