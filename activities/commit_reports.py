"""The activity that tells a forge the status of a commit: SQL and HTTP behind `workflows.ports.ReportPort`."""

from datetime import timedelta

from temporalio import activity

from activities.heartbeats import beating
from activities.hooks.deliveries import MISSED_AFTER, NotYet
from auth.encryption import Sealer
from domain.errors import Invalid
from domain.hooks.commit_statuses import Forge, Report, Target, call_of, is_known_already, state_of
from domain.hooks.webhooks import Outcome, outcome_of, pause_before
from domain.messages import ReportCommit
from domain.pipelines.status import Status
from domain.sealed_for import FORGE
from models.clock import Clock
from models.repositories.hooks import commit_reports
from models.rows.hooks import LinkedReportRow
from models.session import Database
from outbound.post import Poster, Reply
from settings import Settings
from workflows.ports import ReportPort


class ReportActivities(ReportPort):
    """Tells the newest there is, and nothing that was told before."""

    def __init__(self, database: Database, poster: Poster, sealer: Sealer, clock: Clock, settings: Settings) -> None:
        """Take what the composition root made."""
        self._database = database
        self._poster = poster
        self._sealer = sealer
        self._clock = clock
        self._times = settings.times
        self._url = settings.url

    @activity.defn(name="report_commit")
    async def report_commit(self, order: ReportCommit) -> bool:
        """Tell what is to be told now; whether there is more by now. Raises `NotYet` while there is hope."""
        async with self._database.read() as connection:
            row = await commit_reports.find(connection, order.report_id)
        if row is None or row.state != commit_reports.OPEN:
            return False
        shown = f"{row.pipeline_id} {state_of(Forge(row.kind), Status(row.status))}"
        if shown == row.shown:
            return await self._told(row, shown, row.response_status)
        reply = await self._post(row)
        if is_known_already(Forge(row.kind), reply.status, reply.body):
            return await self._told(row, shown, reply.status)
        if outcome_of(reply.status, passing=reply.passing) is Outcome.DELIVERED:
            return await self._told(row, shown, reply.status)
        return await self._failed(row, reply)

    async def _post(self, row: LinkedReportRow) -> Reply:
        try:
            token = self._sealer.open(row.token, FORGE)
        except Invalid as error:
            return Reply(error=str(error))
        target = Target(Forge(row.kind), row.api_url, row.repository, token, f"{row.context_prefix}/pipeline")
        page = f"{self._url}/{row.full_path}/-/pipelines/{row.pipeline_id}"
        call = call_of(target, Report(row.pipeline_id, row.sha, row.ref, Status(row.status), page))
        async with beating():
            return await self._poster.post(call.url, call.headers, call.body, verify=row.verify_tls)

    async def _told(self, row: LinkedReportRow, shown: str, status: int | None) -> bool:
        async with self._database.write() as connection:
            return await commit_reports.told(connection, row, shown, status, self._clock())

    async def _failed(self, row: LinkedReportRow, reply: Reply) -> bool:
        now = self._clock()
        asked = reply.headers.get("Retry-After", "")
        pause = pause_before(row.attempts + 1, self._times.hook_retry_first, self._times.hook_retry_longest, asked)
        hopes = outcome_of(reply.status, passing=reply.passing) is Outcome.AGAIN
        is_last = now + pause > row.since + timedelta(seconds=self._times.hook_patience)
        again = pause + MISSED_AFTER if hopes and not is_last else None
        error = reply.error or f"The forge answered {reply.status}: {reply.body[:300]}"
        async with self._database.write() as connection:
            is_newer = await commit_reports.failed(connection, row, error, reply.status, now, again)
        if is_newer:
            return True
        if again is not None:
            raise NotYet(error, pause)
        return False
