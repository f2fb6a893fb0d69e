"""The activity that delivers an event to a webhook: SQL and HTTP behind `workflows.ports.HookPort`."""

import base64
import zlib
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Final

import orjson
from temporalio import activity
from temporalio.exceptions import ApplicationError, ApplicationErrorCategory

from activities.heartbeats import beating
from activities.hooks.bodies import body_of
from auth.encryption import Sealer
from domain.errors import PerdureError
from domain.hooks.requests import Parcel, Secrets, address_of, headers_of, shown_headers
from domain.hooks.webhooks import OFF, Event, Health, Outcome, outcome_of, pause_before, title_of
from domain.messages import DeliverHook
from domain.sealed_documents import open_variables
from domain.sealed_for import HOOK, HOOK_BODY, PIPELINE
from git.reading.commit_facts import find_commit_facts
from git.repository import Repositories
from models.clock import Clock
from models.notifications import Notifications, delivery_topic
from models.repositories.hooks import hook_deliveries, hook_facts, hooks
from models.repositories.hooks.hook_deliveries import Attempt
from models.rows.hooks import EventDeliveryRow, HookRow
from models.session import Database
from outbound.post import Poster, Reply
from settings import Settings
from workflows.ports import HookPort

MISSED_AFTER: Final = timedelta(minutes=3)
"""After an attempt is due the workflow is given so long before it is started again: it may be gone."""


class NotYet(ApplicationError):
    """There is to be another attempt; Temporal makes it after the pause."""

    def __init__(self, why: str, pause: timedelta) -> None:
        """Say why, and for how long to wait."""
        super().__init__(why, type="NotYet", next_retry_delay=pause, category=ApplicationErrorCategory.BENIGN)


def secrets_of(row: HookRow, sealer: Sealer) -> Secrets:
    """What a hook keeps secret. Raises `Invalid` when it cannot be opened."""

    def opened(sealed: str) -> str:
        return sealer.open(sealed, HOOK) if sealed else ""

    return Secrets(
        opened(row.token),
        opened(row.signing_token),
        orjson.loads(opened(row.custom_headers) or "{}"),
        orjson.loads(opened(row.url_variables) or "{}"),
    )


class HookActivities(HookPort):
    """Delivers, one attempt at a time; every attempt is on record before the next one."""

    def __init__(
        self,
        database: Database,
        notifications: Notifications,
        poster: Poster,
        sealer: Sealer,
        clock: Clock,
        settings: Settings,
    ) -> None:
        """Take what the composition root made."""
        self._database = database
        self._notifications = notifications
        self._poster = poster
        self._sealer = sealer
        self._clock = clock
        self._times = settings.times
        self._url = settings.url
        self._repositories = Repositories(settings.repository_root)

    @activity.defn(name="deliver_hook")
    async def deliver_hook(self, order: DeliverHook) -> str:
        """Try once; the state of the delivery when it has ended. Raises `NotYet` while there is hope."""
        async with self._database.read() as connection:
            row = await hook_deliveries.find(connection, order.delivery_id)
            hook = None if row is None else await hooks.find(connection, row.hook_id)
        if row is None or row.state != hook_deliveries.OPEN:
            return "gone" if row is None else row.state
        if hook is None:
            async with self._database.write() as connection:
                await hook_deliveries.remove(connection, row.id)
            return "gone"
        if not row.single and (held := await self._held_back(row, hook)):
            return held
        async with beating():
            return await self._attempt(row, hook)

    async def _held_back(self, row: EventDeliveryRow, hook: HookRow) -> str:
        """A hook that is switched off gets nothing now: the state of a delivery that ends so. Raises `NotYet`."""
        now = self._clock()
        alert = Health(hook.failures, hook.disabled_until).alert(now)
        if alert == "executable":
            return ""
        until = hook.disabled_until
        if alert == "disabled" or until is None or until > self._last_moment(row):
            error = OFF if alert == "disabled" else f"The hook is disabled until {until} after failures in a row."
            async with self._database.write() as connection:
                await hook_deliveries.give_up(connection, row.id, error)
            return hook_deliveries.FAILED
        async with self._database.write() as connection:
            await hook_deliveries.wait(connection, row.id, until + MISSED_AFTER)
        raise NotYet(f"The hook is disabled until {until}.", until - now + timedelta(seconds=1))

    def _last_moment(self, row: EventDeliveryRow) -> datetime:
        return row.created_at + timedelta(seconds=self._times.hook_patience)

    async def _attempt(self, row: EventDeliveryRow, hook: HookRow) -> str:
        now = self._clock()
        sealed, headers = row.body, {}
        try:
            secrets = secrets_of(hook, self._sealer)
            body, sealed = await self._body(row, hook)
            parcel = Parcel(title_of(Event(row.kind), hook.scope), row.uuid, row.event_uuid, hook.uuid, self._url)
            sent = headers_of(parcel, secrets, body, now)
            headers = shown_headers(sent, secrets)
            reply = await self._poster.post(
                address_of(hook.url, secrets.url_variables), sent, body, verify=hook.verify_tls
            )
        except PerdureError as error:
            reply = Reply(error=str(error))
        outcome = outcome_of(reply.status, passing=reply.passing)
        asked = reply.headers.get("Retry-After", "")
        pause = pause_before(row.attempts + 1, self._times.hook_retry_first, self._times.hook_retry_longest, asked)
        is_last = row.single or self._clock() + pause > self._last_moment(row)
        again = self._clock() + pause if outcome is Outcome.AGAIN and not is_last else None
        state = hook_deliveries.DELIVERED if outcome is Outcome.DELIVERED else hook_deliveries.FAILED
        attempt = Attempt(
            at=now,
            state=state if again is None else hook_deliveries.OPEN,
            body=sealed,
            request_headers=headers,
            status=reply.status,
            response_headers=reply.headers,
            response_body=reply.body,
            seconds=reply.seconds,
            error=reply.error,
            again=again,
        )
        await self._record(row, hook, attempt, outcome)
        if again is not None:
            raise NotYet(reply.error or f"The receiver answered {reply.status}.", pause)
        return state

    async def _record(self, row: EventDeliveryRow, hook: HookRow, attempt: Attempt, outcome: Outcome) -> None:
        async with self._database.write() as connection:
            await hook_deliveries.record(connection, row, attempt, MISSED_AFTER)
            if outcome is Outcome.DELIVERED:
                await hooks.mend(connection, hook.id, lambda _: Health())
            else:
                await hooks.mend(connection, hook.id, lambda health: health.failed(self._clock()))
        await self._notifications.show(delivery_topic(row.id))

    async def _body(self, row: EventDeliveryRow, hook: HookRow) -> tuple[bytes, str]:
        """What is sent, and the same sealed: made before the first attempt, and kept."""
        if row.body:
            return zlib.decompress(base64.b64decode(self._sealer.open(row.body, HOOK_BODY))), row.body
        around = None
        if row.project_id is not None:
            async with self._database.read() as connection:
                around = await hook_facts.around(connection, row)
            if around.pipeline is not None:
                open_ = partial(self._sealer.open, purpose=PIPELINE)
                variables = open_variables(around.pipeline.variables, open_)
                around = replace(around, pipeline=replace(around.pipeline, variables=variables))
            if row.kind == Event.RELEASE:
                around = replace(around, commit=await self._commit(row.project_id, row.facts["sha"]))
        body = body_of(row, around, self._url, hook.scope)
        return body, self._sealer.seal(base64.b64encode(zlib.compress(body)).decode(), HOOK_BODY)

    async def _commit(self, project_id: int, sha: str) -> dict[str, Any] | None:
        """A commit of a project; None for one that is gone."""
        with suppress(PerdureError):
            return await find_commit_facts(self._repositories.get(project_id), sha)
        return None
