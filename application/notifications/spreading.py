"""From what happened to messages: one row for each recipient, written together and once.

Who writes them closes the notice in the same transaction, so that of two who do so at the same time one writes, and a
process that dies before the commit has written nothing.
"""

import base64
import zlib
from datetime import datetime

import orjson

from application.notifications.gathering import gather
from application.notifications.letters import Envelope, letter
from application.notifications.recipients import people_to_tell
from application.notifications.unsubscribing import Ending, link
from application.services import Services
from domain.notifications import chat
from domain.notifications.content import Content
from domain.notifications.integrations import (
    CHATS,
    Channel,
    Ref,
    Slug,
    Wishes,
    hears,
    is_address,
    to_address,
    to_chat,
    to_person,
    wishes_of,
)
from domain.sealed_for import MESSAGE
from models.repositories.notifications import chat_integrations, mailing, messages, notices
from models.repositories.notifications.messages import Draft, new_uuid
from models.repositories.projects import relations
from models.rows.accounts import UserRow
from models.rows.notifications import ChatIntegrationRow, NoticeRow
from models.rows.projects import ProjectRow


async def spread(services: Services, notice: NoticeRow) -> int:
    """Write the messages of a notice; how many. Raises `NotFound` where what happened is gone."""
    project, content, ref = await gather(services, notice)
    drafts = await _drafts(services, project, notice, content, ref)
    async with services.database.write() as connection:
        if not await notices.close(connection, notice.id):
            return 0
        await messages.add(connection, notice.id, drafts, services.clock())
    return len(drafts)


async def _drafts(
    services: Services, project: ProjectRow, notice: NoticeRow, content: Content, ref: Ref
) -> list[Draft]:
    async with services.database.read() as connection:
        listening = await chat_integrations.of_project(connection, project.id)
        is_mailed = await mailing.are_sent(connection)
    found: dict[tuple[str, str], Draft] = {}
    if is_mailed:
        for person in await people_to_tell(services, project, notice):
            _keep(found, to_person_draft(services, project, notice, content, person))
    for row in listening:
        slug, wishes = Slug(row.slug), wishes_of(row.wishes)
        if not row.active or not hears(slug, wishes, content.occasion, ref):
            continue
        if slug in CHATS:
            _keep(found, to_chat_draft(services, row, content, notice.created_at))
        elif is_mailed:
            for address in await _addresses(services, wishes, notice):
                _keep(found, to_address_draft(services, row, content, notice.created_at, address))
    return [*found.values()]


def _keep(found: dict[tuple[str, str], Draft], draft: Draft) -> None:
    """The first message to a recipient is the one."""
    found.setdefault((draft.channel.kind, draft.channel.key), draft)


async def _addresses(services: Services, wishes: Wishes, notice: NoticeRow) -> list[str]:
    """The recipients of a list, and whoever started the pipeline if they want that."""
    found = [*wishes.recipients]
    if wishes.add_pusher and notice.user_id is not None:
        async with services.database.read() as connection:
            people = await relations.users(connection, [notice.user_id])
        found += [person.email for person in people.values() if is_address(person.email)]
    return found


def to_person_draft(
    services: Services, project: ProjectRow, notice: NoticeRow, content: Content, person: UserRow
) -> Draft:
    """An e-mail to somebody with an account."""
    because = f"You get this e-mail because of your notification settings at {services.settings.url_fqdn}."
    ending = link(services, Ending(project.id, account_id=person.id))
    envelope = Envelope(
        new_uuid(), notice.created_at, because, ending, f"{services.settings.url}/-/profile/notifications"
    )
    return _mail(services, to_person(person.id, person.email), content, envelope)


def to_address_draft(
    services: Services,
    row: ChatIntegrationRow,
    content: Content,
    at: datetime,
    address: str,
    *,
    single: bool = False,
) -> Draft:
    """An e-mail to an address that an integration names."""
    because = f"You get this e-mail because a maintainer of {content.project} has put your address on its list."
    ending = link(services, Ending(row.project_id, address=address))
    envelope = Envelope(new_uuid(), at, because, ending)
    return _mail(services, to_address(row.id, address), content, envelope, single=single)


def to_chat_draft(
    services: Services, row: ChatIntegrationRow, content: Content, at: datetime, *, single: bool = False
) -> Draft:
    """A message to a chat."""
    slug = Slug(row.slug)
    body = orjson.dumps(chat.document(slug, wishes_of(row.wishes), content, at))
    return Draft(to_chat(slug, row.id), new_uuid(), _sealed(services, body), single)


def _mail(services: Services, channel: Channel, content: Content, envelope: Envelope, *, single: bool = False) -> Draft:
    return Draft(channel, envelope.uuid, _sealed(services, letter(services.settings, content, envelope)), single)


def _sealed(services: Services, body: bytes) -> str:
    return services.sealer.seal(base64.b64encode(zlib.compress(body)).decode(), MESSAGE)
