"""A tag made by the server instead of by a pusher; it gets its pipeline all the same.

As with a push it is written down before git moves the ref: should this process die in between, `api.push` finds the
note and makes the pipeline.
"""

import asyncio
from typing import Any

import structlog

from api.push import finish
from api.services import Services
from domain.errors import PerdureError, Refused
from git.push import RefUpdate
from git.repository import Repository
from git.tags import NewTag, create_tag_ref, ref_of, tag_object
from models.repositories import pushes

log = structlog.get_logger()


async def make_tag(services: Services, project: Any, user_id: int, repository: Repository, tag: NewTag) -> None:
    """Make a tag in the name of a user, and the pipeline of that tag.

    A pipeline that cannot be made now is made later and is no error here. Raises `Invalid`, `Refused` when the tag
    exists, `Unavailable`.
    """
    work = asyncio.create_task(_make(services, project, user_id, repository, tag))
    await asyncio.shield(work)  # a caller that goes away does not stop half of it


async def _make(services: Services, project: Any, user_id: int, repository: Repository, tag: NewTag) -> None:
    target = await tag_object(repository, tag)
    update = RefUpdate("0" * 40, target, ref_of(tag.name))
    noted = [{"old": update.old, "new": update.new, "ref": update.ref}]
    async with services.database.write() as connection:
        push_id = await pushes.note(connection, project.id, user_id, noted, (), services.clock())
    try:
        await create_tag_ref(repository, tag.name, target)
    except Refused:
        async with services.database.write() as connection:
            await pushes.take(connection, push_id, services.clock())
        raise
    try:
        await finish(services, project, repository, push_id, [update])
    except PerdureError as error:
        log.warning("the pipeline of a tag is made later", tag=tag.name, project=project.id, error=str(error))
