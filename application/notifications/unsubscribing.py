"""Links in e-mails that end them: sealed, so that only who was sent one has it, and nobody learns anything from it."""

from dataclasses import asdict, dataclass
from typing import Final

import orjson

from application.services import Services
from domain.errors import Invalid, NotFound
from domain.notifications.integrations import Slug, wishes_of
from domain.notifications.levels import Level, Setting
from domain.sealed_for import UNSUBSCRIBE
from models.repositories.installation import audit
from models.repositories.installation.audit import Author, Entity, Happened
from models.repositories.notifications import chat_integrations, notification_settings
from models.repositories.owner import Owner
from models.repositories.projects import projects
from models.rows.projects import ProjectRow

PATH: Final = "/-/unsubscribe"
_MAX_TOKEN: Final = 1000


@dataclass(frozen=True, slots=True)
class Ending:
    """Whose e-mails of which project a link ends: those of an account, or those to an address of a list."""

    project_id: int
    account_id: int = 0
    address: str = ""


def link(services: Services, ending: Ending) -> str:
    """The address of a link; it begins with the project, so that a router finds its pod."""
    token = services.sealer.seal(orjson.dumps(asdict(ending)).decode(), UNSUBSCRIBE)
    return f"{services.settings.url}{PATH}/{ending.project_id}/{token}"


async def opened(services: Services, project_id: int, token: str) -> tuple[Ending, ProjectRow]:
    """What a link means. Raises `NotFound` for one that is none of ours, or whose project is gone."""
    try:
        if len(token) > _MAX_TOKEN:
            raise Invalid("too long")
        ending = Ending(**orjson.loads(services.sealer.open(token, UNSUBSCRIBE)))
    except Invalid:
        raise NotFound("This link is not one of ours, or no longer.") from None
    async with services.database.read() as connection:
        project = await projects.find(connection, ending.project_id)
    if project is None or ending.project_id != project_id:
        raise NotFound("This link is not one of ours, or no longer.")
    return ending, project


async def end(services: Services, ending: Ending, project: ProjectRow) -> None:
    """No more of these e-mails; the second time nothing changes."""
    now = services.clock()
    async with services.database.write() as connection:
        if ending.account_id:
            owner = Owner(project_id=project.id)
            before = await notification_settings.find(connection, ending.account_id, owner)
            kept = {} if before is None else before.events
            chosen = Setting(Level.DISABLED, kept)
            await notification_settings.put(connection, ending.account_id, owner, chosen, now)
            return
        row = await chat_integrations.find(connection, project.id, Slug.PIPELINES_EMAIL)
        wishes = None if row is None else wishes_of(row.wishes)
        if row is None or wishes is None or ending.address not in wishes.recipients:
            return
        left = [address for address in wishes.recipients if address != ending.address]
        changed = {**wishes.document(), "recipients": left}
        await chat_integrations.put(connection, project.id, Slug.PIPELINES_EMAIL, now, wishes=changed)
        happened = Happened("integration_recipient_left", {"slug": str(Slug.PIPELINES_EMAIL)})
        entity = Entity("project", project.id, project.full_path)
        await audit.add(connection, Author(0, "a recipient of e-mails"), entity, happened, now)
