"""A tag made by the server instead of by a pusher; it gets its pipeline all the same."""

from application.access import ProjectAccess
from application.pushes.push import update_refs
from application.services import Services
from git.repository import Repository
from git.transport.push import RefUpdate
from git.writing.ref_transaction import NOTHING
from git.writing.tags import NewTag, ref_of, tag_object


async def make_tag(services: Services, access: ProjectAccess, repository: Repository, tag: NewTag) -> None:
    """Make a tag in the name of the caller, and the pipeline of that tag.

    A pipeline that cannot be made now is made later and is no error here. Raises `Forbidden`, `Invalid`, `Refused` when
    the tag exists, `Unavailable`.
    """
    target = await tag_object(repository, tag)
    await update_refs(services, access, repository, [RefUpdate(NOTHING, target, ref_of(tag.name))])
