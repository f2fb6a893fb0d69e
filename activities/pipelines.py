"""The activities of pipeline workflows: SQL behind `workflows.ports.PipelinePort`."""

from datetime import UTC, datetime

from temporalio import activity

from domain.messages import AwaitJob, Decision, Load, Page, Recorded
from domain.verdict import Verdict
from metrics.server_metrics import ServerMetrics
from models import job_offers
from models.clock import Clock
from models.notifications import BRIDGES, OUTBOX, Notifications, pipeline_topic
from models.repositories import decisions, loading, outbox
from models.session import Database
from workflows.ports import PipelinePort


def _since_scheduled() -> float | None:
    """Seconds since the workflow asked for this activity."""
    if not activity.in_activity():
        return None
    return (datetime.now(UTC) - activity.info().scheduled_time).total_seconds()


class PipelineActivities(PipelinePort):
    """Reads and records pipelines in SQL."""

    def __init__(
        self, database: Database, notifications: Notifications, clock: Clock, metrics: ServerMetrics | None = None
    ) -> None:
        """Take what the composition root made."""
        self._metrics = metrics or ServerMetrics()
        self._database = database
        self._notifications = notifications
        self._clock = clock

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
        await self._notifications.notify(pipeline_topic(decision.pipeline_id), count=1_000)
        if not written.put.isdisjoint(outbox.TO_TEMPORAL):
            await self._notifications.notify(OUTBOX)
        if not written.put.isdisjoint(outbox.TO_BRIDGES):
            await self._notifications.notify(BRIDGES)
        return written.recorded

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
