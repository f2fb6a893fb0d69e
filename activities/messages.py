"""The activity that hands a message to the mail server or to a chat: `workflows.ports.MessagePort`.

Each message has one Message-ID and one body. What came of an attempt is written at once after the answer. A process
that dies in between leaves a message that is sent again, the same: no order of answer and commit could do without.
"""

import base64
import zlib
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from temporalio import activity

from activities.heartbeats import beating
from activities.hooks.deliveries import NotYet
from auth.encryption import Sealer
from auth.permissions import Action, Caller, require
from domain.errors import Forbidden, NotFound, PerdureError, Unauthenticated
from domain.hooks.webhooks import Outcome, outcome_of, pause_before
from domain.messages import DeliverMessage
from domain.notifications.integrations import MAIL, is_address, wishes_of
from domain.notifications.levels import Level
from domain.sealed_for import CHAT, MESSAGE
from models.clock import Clock
from models.notifications import Notifications, message_topic
from models.repositories.accounts import accounts, members
from models.repositories.notifications import chat_integrations, messages, notification_settings
from models.repositories.notifications.messages import Attempt
from models.repositories.owner import Owner
from models.repositories.projects import projects, relations
from models.rows.notifications import ChatIntegrationRow, NoticedMessageRow
from models.session import Database
from outbound.mail import Mailer
from outbound.post import Poster
from settings import Settings
from workflows.ports import MessagePort

MISSED_AFTER: Final = timedelta(minutes=3)
"""After an attempt is due the workflow is given so long before it is started again: it may be gone."""
_HELD_LONGER: Final = timedelta(seconds=5)
"""How long nobody else tries beyond the time limit of an attempt."""
_KEPT: Final = 500
"""Characters of an answer that are kept."""
_CHAT_HEADERS: Final = {"Content-Type": "application/json", "User-Agent": "Perdure"}
NO_SERVER: Final = "No mail server is set (PERDURE_SMTP_URL)."


class _Gone(PerdureError):
    """Whoever a message was for is not to get it any more."""


@dataclass(frozen=True, slots=True)
class Ways:
    """How messages leave; there is no `mailer` where no mail server is set."""

    poster: Poster
    mailer: Mailer | None = None


@dataclass(frozen=True, slots=True)
class _Result:
    """What came of an attempt."""

    outcome: Outcome
    status: int | None = None
    reply: str = ""
    error: str = ""
    seconds: float = 0.0
    asked: str = ""


class MessageActivities(MessagePort):
    """Delivers, one attempt at a time; every attempt is on record before the next one."""

    def __init__(
        self,
        database: Database,
        notifications: Notifications,
        ways: Ways,
        sealer: Sealer,
        clock: Clock,
        settings: Settings,
    ) -> None:
        """Take what the composition root made."""
        self._database = database
        self._notifications = notifications
        self._ways = ways
        self._sealer = sealer
        self._clock = clock
        self._times = settings.times
        self._longest = timedelta(seconds=max(settings.smtp.timeout, settings.times.hook_timeout)) + _HELD_LONGER

    @activity.defn(name="deliver_message")
    async def deliver_message(self, order: DeliverMessage) -> str:
        """Try once; the state of the message when it has ended. Raises `NotYet` while there is hope."""
        async with self._database.read() as connection:
            row = await messages.find(connection, order.message_id)
        if row is None or row.state != messages.OPEN:
            return "gone" if row is None else row.state
        now = self._clock()
        async with self._database.write() as connection:
            is_mine = await messages.hold(connection, row, now, now + self._longest)
        if not is_mine:
            raise NotYet("Somebody else hands it over.", self._longest)
        async with beating():
            return await self._attempt(row, now)

    async def _attempt(self, row: NoticedMessageRow, now: datetime) -> str:
        try:
            result = await (self._mail(row) if row.channel == MAIL else self._post(row))
        except _Gone as gone:
            result = _Result(Outcome.FAILED, error=str(gone))
        except PerdureError as error:
            result = _Result(Outcome.AGAIN, error=str(error))
        first, longest = self._times.hook_retry_first, self._times.hook_retry_longest
        pause = pause_before(row.attempts + 1, first, longest, result.asked)
        is_last = row.single or self._clock() + pause > row.created_at + timedelta(seconds=self._times.hook_patience)
        again = self._clock() + pause if result.outcome is Outcome.AGAIN and not is_last else None
        ended = messages.DELIVERED if result.outcome is Outcome.DELIVERED else messages.FAILED
        state = ended if again is None else messages.OPEN
        attempt = Attempt(now, state, result.status, result.reply, result.error, result.seconds, again)
        async with self._database.write() as connection:
            await messages.record(connection, row, attempt, MISSED_AFTER)
        await self._notifications.notify(message_topic(row.id), count=100)
        if again is not None:
            raise NotYet(result.error, pause)
        return state

    async def _mail(self, row: NoticedMessageRow) -> _Result:
        """Hand an e-mail to the mail server."""
        to = await self._address(row)
        if self._ways.mailer is None:
            return _Result(Outcome.AGAIN, error=NO_SERVER)
        letter = f"To: {to}\r\n".encode("ascii") + self._body(row)
        receipt = await self._ways.mailer.send(letter, to)
        outcome = Outcome.DELIVERED if receipt.is_taken else Outcome.AGAIN if receipt.passing else Outcome.FAILED
        return _Result(outcome, receipt.code, receipt.reply, receipt.error, receipt.seconds)

    async def _address(self, row: NoticedMessageRow) -> str:
        """Where an e-mail goes: to the address that somebody has now. Raises `_Gone`."""
        if row.account_id is None:
            wishes = wishes_of((await self._integration(row)).wishes)
            if not (row.single or wishes.add_pusher or row.address in wishes.recipients):
                raise _Gone("The address was taken off the list.")
            return row.address
        async with self._database.read() as connection:
            person = (await relations.users(connection, [row.account_id])).get(row.account_id)
            project = await projects.find(connection, row.project_id)
            level = await members.level_in_project(connection, row.project_id, row.account_id)
            chosen = await notification_settings.find(connection, row.account_id, Owner(project_id=row.project_id))
        if person is None or project is None or person.state != accounts.ACTIVE:
            raise _Gone("Whoever it was for is blocked or gone.")
        if chosen is not None and chosen.level is Level.DISABLED:
            raise _Gone("Whoever it was for wants no more e-mails from this project.")
        caller = Caller(person.id, person.username, person.is_admin, person.external)
        try:
            require(caller, Action.READ, level, project.visibility)
        except (Forbidden, NotFound, Unauthenticated):
            raise _Gone("Whoever it was for may not read the project any more.") from None
        if not is_address(person.email):
            raise _Gone("Whoever it was for has no e-mail address that something can be sent to.")
        return person.email

    async def _post(self, row: NoticedMessageRow) -> _Result:
        """Post a message to a chat."""
        webhook = self._sealer.open((await self._integration(row)).webhook, CHAT)
        reply = await self._ways.poster.post(webhook, _CHAT_HEADERS, self._body(row))
        outcome = outcome_of(reply.status, passing=reply.passing)
        said = " ".join(reply.body.split())[:_KEPT]
        refused = "" if outcome is Outcome.DELIVERED else f"The chat answered {reply.status}: {said}"
        asked = reply.headers.get("Retry-After", "")
        return _Result(outcome, reply.status, said, reply.error or refused, reply.seconds, asked)

    async def _integration(self, row: NoticedMessageRow) -> ChatIntegrationRow:
        """The integration that a message is of. Raises `_Gone`."""
        async with self._database.read() as connection:
            integration = await chat_integrations.by_id(connection, row.integration_id or 0)
        if integration is None or not (integration.active or row.single):
            raise _Gone("The integration was removed or switched off.")
        return integration

    def _body(self, row: NoticedMessageRow) -> bytes:
        return zlib.decompress(base64.b64decode(self._sealer.open(row.body, MESSAGE)))
