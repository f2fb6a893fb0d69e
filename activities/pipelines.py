"""The activities of pipeline workflows: SQL behind `workflows.ports.PipelinePort`."""

from datetime import UTC, datetime, timedelta
from typing import Final

from temporalio import activity
from temporalio.service import RPCError, RPCStatusCode

from domain.messages import AskWindow, AwaitJob, Decision, Load, Page, Recorded, RetryWindow
from domain.pipelines.verdict import Verdict
from metrics.server_metrics import ServerMetrics
from models import job_offers
from models.clock import Clock
from models.notifications import BRIDGES, OTHER_PODS, OUTBOX, PIPELINES, Notifications, pipeline_topic, project_topic
from models.repositories.pipelines import decisions, loading, outbox
from models.session import Database
from workflows.ports import PipelinePort

CANCEL_RPC: Final = timedelta(seconds=5)


def _since_scheduled() -> float | None:
    """Seconds since the workflow asked for this activity."""
    if not activity.in_activity():
        return None
    return (datetime.now(UTC) - activity.info().scheduled_time).total_seconds()


class PipelineActivities(PipelinePort):
    """Reads and records pipelines in SQL."""

    def __init__(
        self,
        database: Database,
        notifications: Notifications,
        clock: Clock,
        retry_window: timedelta = timedelta(0),
        metrics: ServerMetrics | None = None,
    ) -> None:
        """Take what the composition root made; `retry_window` counts from the end of a pipeline."""
        self._metrics = metrics or ServerMetrics()
        self._database = database
        self._notifications = notifications
        self._clock = clock
        self._retry_window = retry_window

    @activity.defn(name="load")
    async def load(self, order: Load) -> Page:
        """Read a page of a pipeline as SQL has it."""
        async with self._database.read() as connection:
            return await loading.page(connection, order)

    @activity.defn(name="apply")
    async def apply(self, decision: Decision) -> Recorded:
        """Record a decision that offers nothing, and wake those who carry out what it put into the outbox."""
        written = await decisions.record_or_read(self._database, decision, self._clock())
        self._count(decision, written)
        await self._notifications.show(pipeline_topic(decision.pipeline_id))
        if written.changed_in is not None:
            await self._notifications.show(project_topic(written.changed_in), PIPELINES)
        if not written.put.isdisjoint(outbox.TO_TEMPORAL):
            await self._notifications.notify(OUTBOX)
        if not written.put.isdisjoint(outbox.TO_BRIDGES):
            await self._notifications.notify(BRIDGES)
        if not written.put.isdisjoint(outbox.TO_PODS):
            await self._notifications.notify(OTHER_PODS)
        return written.recorded

    @activity.defn(name="read the pipeline")
    async def read_pipeline(self, order: Load) -> Page:
        """`load` under the name that people see in Temporal."""
        return await self.load(order)

    @activity.defn(name="record what follows")
    async def record(self, decision: Decision) -> Recorded:
        """`apply` under the name that people see in Temporal."""
        return await self.apply(decision)

    @activity.defn(name="offer_jobs")
    async def offer_jobs(self, decision: Decision) -> Recorded:
        """Record a decision and wake as many runners as it offers jobs: one notification for the batch."""
        recorded = await self.apply(decision)
        offers = decision.offers()
        await job_offers.tell(self._database, self._notifications, offers)
        if not recorded.stale:
            self._metrics.offered(len(offers), _since_scheduled())
        return recorded

    def _count(self, decision: Decision, written: decisions.Written) -> None:
        """A decision that was recorded before is counted once."""
        if written.recorded.stale:
            return
        for verdict in decision.verdicts:
            self._metrics.folded(verdict.status, verdict.reason)
        if written.ended:
            self._metrics.ended(written.recorded.status)

    @activity.defn(name="await_job")
    async def await_job(self, order: AwaitJob) -> Verdict:  # noqa: ARG002
        """Leave the job to the runners; losing this worker loses nothing."""
        activity.raise_complete_async()

    @activity.defn(name="ask until when it may be retried")
    async def retry_window(self, order: AskWindow) -> RetryWindow:
        """Count from the end that SQL has, so that a later run of the workflow has the same window."""
        async with self._database.read() as connection:
            ended = (await loading.head(connection, order.pipeline_id)).finished_at
        return RetryWindow((ended or self._clock()) + self._retry_window)

    @activity.defn(name="close as canceled")
    async def request_cancellation(self) -> None:
        """Ask for this very run; one that is closed by now needs it no more."""
        info = activity.info()
        assert info.workflow_id is not None
        handle = activity.client().get_workflow_handle(info.workflow_id, run_id=info.workflow_run_id)
        try:
            await handle.cancel(rpc_timeout=CANCEL_RPC)
        except RPCError as error:
            if error.status is not RPCStatusCode.NOT_FOUND:
                raise
