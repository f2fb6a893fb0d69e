"""Trying an integration out: a message that says who sent it, tried once."""

import asyncio
from collections.abc import Sequence
from typing import Final

from application.access import ProjectAccess
from application.limits.actions import Limited
from application.notifications.gathering import person_of, place_of
from application.notifications.spreading import to_address_draft, to_chat_draft
from application.services import Services
from domain.errors import Invalid
from domain.notifications import words
from domain.notifications.integrations import CHATS, Slug, wishes_of
from domain.notifications.occasions import Occasion
from models.notifications import HOOKS, message_topic
from models.repositories.notifications import mailing, messages, notices
from models.repositories.notifications.messages import Draft
from models.repositories.notifications.notices import Noticed
from models.repositories.projects import relations
from models.rows.notifications import ChatIntegrationRow, NoticedMessageRow

MAX_RECIPIENTS: Final = 20
"""Addresses of a list that a test goes to."""
_LOOK_AGAIN: Final = 0.5
"""Seconds after which a waiting call looks without being told."""


async def send_test(services: Services, project: ProjectAccess, row: ChatIntegrationRow) -> Sequence[NoticedMessageRow]:
    """Send a message to an integration; what became of it after some seconds. Raises `Invalid`, `TooMany`."""
    services.limits.note(Limited.HOOK_TEST, project.row.id, project.caller.user_id)
    now, user_id = services.clock(), project.caller.user_id
    async with services.database.read() as connection:
        people = await relations.users(connection, [user_id])
        is_mailed = await mailing.are_sent(connection)
    if Slug(row.slug) not in CHATS and not is_mailed:
        raise Invalid("No mail server is set (PERDURE_SMTP_URL): an administrator has to name one.")
    content = words.of_test(place_of(services, project.row), person_of(services, people.get(user_id)))
    drafts: list[Draft]
    if Slug(row.slug) in CHATS:
        drafts = [to_chat_draft(services, row, content, now, single=True)]
    else:
        addresses = wishes_of(row.wishes).recipients[:MAX_RECIPIENTS]
        drafts = [to_address_draft(services, row, content, now, address, single=True) for address in addresses]
    if not drafts:
        raise Invalid("There is nobody to send it to: the list has no recipients.")
    async with services.database.write() as connection:
        notice_id = await notices.add_done(connection, Noticed(project.row.id, Occasion.TEST, user_id), now)
        keys = [await messages.add_one(connection, notice_id, draft, now) for draft in drafts]
    await services.notifications.notify(HOOKS)
    return await _tried(services, keys)


async def _tried(services: Services, keys: Sequence[int]) -> list[NoticedMessageRow]:
    """The messages when they were tried; where that takes too long, as they are."""
    clock = asyncio.get_running_loop().time
    times = services.settings.times
    deadline = clock() + min(times.command_answer, times.hook_timeout)
    found = []
    for key in keys:
        while True:
            waiter = services.notifications.subscribe(message_topic(key))
            try:
                async with services.database.read() as connection:
                    row = await messages.find(connection, key)
                if row is None or row.state != messages.OPEN or clock() > deadline:
                    break
                await asyncio.wait([waiter], timeout=_LOOK_AGAIN)
            finally:
                services.notifications.leave(message_topic(key), waiter)
        if row is not None:
            found.append(row)
    return found
