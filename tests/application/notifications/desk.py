"""An installation that tells people: its loop and its activity, one step at a time, with a real mail server."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from activities.hooks.deliveries import NotYet
from activities.messages import MessageActivities, Ways
from domain.messages import Command, DeliverMessage
from domain.notifications.levels import Level, Setting
from loops.spreading import Spreading
from models.clock import Clock
from models.columns import table_of
from models.notifications import HOOKS
from models.repositories.notifications import notification_settings
from models.repositories.owner import Owner
from models.tables.notifications import Message, Notice
from outbound.mail import Mailer
from rigs.ports import LOCAL
from settings import SmtpSettings
from tests.activities.mail_server import MailServer, mail_server
from tests.activities.receiver import NETWORK, local_poster
from tests.api.v4.site import Person, Site, open_site

notice = table_of(Notice)
message = table_of(Message)


@dataclass
class Desk:
    """A site whose people are told by `server`."""

    site: Site
    server: MailServer

    def __post_init__(self) -> None:
        self.loop = Spreading(self.site.services)

    async def spread(self) -> None:
        """Write the messages of what happened."""
        await self.loop.look()

    async def deliver(self, message_id: int) -> str:
        """One attempt: how it ended, or for how many seconds to wait."""
        services = self.site.services
        ways = Ways(local_poster(), Mailer(services.settings.smtp) if services.settings.smtp.is_given else None)
        activities = MessageActivities(
            services.database, services.notifications, ways, services.sealer, services.clock, services.settings
        )
        try:
            return await activities.deliver_message(DeliverMessage(message_id))
        except NotYet as later:
            return f"again in {(later.next_retry_delay or timedelta()).total_seconds():g}"

    async def deliver_all(self) -> list[str]:
        """One attempt for each message that is open."""
        return [await self.deliver(row.id) for row in await self.messages(state="open")]

    async def told(self) -> list[str]:
        """Spread and deliver; to whom e-mails went, and their subjects."""
        await self.spread()
        await self.deliver_all()
        return sorted(f"{one.to[0]}: {one.mail['Subject']}" for one in self.server.taken)

    async def messages(self, **equal: Any) -> Sequence[Any]:
        """Rows of messages."""
        return await self._rows(message, equal)

    async def notices(self, **equal: Any) -> Sequence[Any]:
        """Rows of notices."""
        return await self._rows(notice, equal)

    async def _rows(self, table: Any, equal: dict[str, Any]) -> Sequence[Any]:
        statement = table.select().order_by(table.c.id)
        for name, value in equal.items():
            statement = statement.where(table.c[name] == value)
        async with self.site.services.database.read() as connection:
            return (await connection.execute(statement)).all()

    async def choose(self, person: Person, level: str, owner: Owner | None = None, **events: bool) -> None:
        """Somebody chooses how much they hear, of everything unless said."""
        services = self.site.services
        async with services.database.write() as connection:
            chosen = Setting(Level(level), events)
            await notification_settings.put(connection, person.id, owner or Owner(), chosen, services.clock())

    @property
    def of_project(self) -> Owner:
        """The project."""
        return Owner(project_id=self.site.world.project_id)

    def without_mail(self) -> "Desk":
        """The same installation as a process sees it to which no mail server was named."""
        services = self.site.services
        settings = services.settings.model_copy(update={"smtp": SmtpSettings()})
        return Desk(replace(self.site, services=replace(services, settings=settings)), self.server)

    def at(self, clock: Clock) -> "Desk":
        """The same installation, with another time; it takes nothing for granted that happened before."""
        return Desk(replace(self.site, services=replace(self.site.services, clock=clock)), self.server)

    async def settle(self, pipeline_id: int, *commands: Command) -> None:
        """Decide and record until nothing follows."""
        while await self.site.world.settle(pipeline_id, *commands) is not None:
            commands = ()

    async def pipeline(self, *ends: str, config: str = "", **request: Any) -> int:
        """A pipeline of one job, which ends so, once for each retry."""
        world = self.site.world
        pipeline_id = await world.pipeline(config or "check: {stage: test, script: make check}\n", **request)
        for end in ends:
            job = await world.job()
            await world.put(job, end)
            await self.settle(pipeline_id)
        return pipeline_id


@asynccontextmanager
async def open_desk(
    folder: Path, database_url: str, *data: str, mails: bool = True, **more: Any
) -> AsyncIterator[Desk]:
    """A desk whose mail server answers so."""
    async with mail_server(*data) as server:
        smtp = SmtpSettings(url=f"smtp://{LOCAL}:{server.port}", sender="Perdure <ci@perdure.example>", timeout=5)
        given = {"smtp": smtp if mails else SmtpSettings(), "outbound_networks": NETWORK, **more}
        async with open_site(folder, database_url, **given) as site:
            desk = Desk(site, server)
            await desk.spread()
            yield desk


@asynccontextmanager
async def delivering(desk: Desk) -> AsyncIterator[None]:
    """In the place of Temporal: each message is tried at once, while the block runs."""
    services, over = desk.site.services, asyncio.Event()

    async def work() -> None:
        while not over.is_set():
            waiter = services.notifications.subscribe(HOOKS)
            await desk.deliver_all()
            await asyncio.wait([waiter], timeout=0.1)
            services.notifications.leave(HOOKS, waiter)

    task = asyncio.create_task(work())
    try:
        yield
    finally:
        over.set()
        await task
