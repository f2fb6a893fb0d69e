"""Source branches: removed once they are merged, rebased upon their target when somebody asks."""

import structlog

from application.access import ProjectAccess, access_to, caller_from
from application.merge_requests.context import MergeContext, surroundings_of
from application.pushes.push import update_refs
from application.services import Services
from domain.errors import Forbidden, NotFound, PerdureError, Refused
from git.reading.revision import commit_named
from git.reading.signature import Signature
from git.transport.fetching import fetch_commit
from git.transport.push import RefUpdate
from git.writing.rebasing import rebase
from git.writing.ref_transaction import NOTHING
from models.repositories.accounts import accounts
from models.repositories.merge_requests import merge_request_events
from models.rows.merge_requests import MergeRequestEventRow
from models.rows.projects import ProjectRow

log = structlog.get_logger()


async def clean_up(services: Services, merge_request_id: int) -> None:
    """Remove the source branch where that was asked for; what fails is tried again by the loop."""
    async with services.database.read() as connection:
        rows = await merge_request_events.of(connection, merge_request_id, merge_request_events.REMOVE_BRANCH)
    for row in rows:
        try:
            await remove_source_branch(services, row)
        except PerdureError as error:
            log.warning("a source branch is removed later", merge_request=merge_request_id, error=str(error))


async def remove_source_branch(services: Services, event: MergeRequestEventRow) -> None:
    """Remove the source branch of what is merged, if nobody has moved it and whoever merged may.

    Raises `Unavailable`.
    """
    here = await surroundings_of(services, event.merge_request_id)
    if here is not None and here.source is not None:
        ref = f"refs/heads/{here.row.source_branch}"
        repository = services.repositories.get(here.source.id)
        if await commit_named(repository, ref) == event.sha:
            await _remove(services, here, here.source, event, ref)
    async with services.database.write() as connection:
        await merge_request_events.take(connection, event.id)


async def _remove(
    services: Services, here: MergeContext, source: ProjectRow, event: MergeRequestEventRow, ref: str
) -> None:
    async with services.database.read() as connection:
        user = await accounts.get(connection, event.user_id)
    try:
        access = await access_to(services, caller_from(user), source.id)
        if access.protection.protects(here.row.source_branch, tag=False):
            return
        repository = services.repositories.get(source.id)
        await update_refs(services, access, repository, [RefUpdate(event.sha, NOTHING, ref)])
    except (Forbidden, NotFound, Refused) as error:
        log.info("a source branch stays", merge_request=here.reference, why=str(error))


async def rebase_source(services: Services, here: MergeContext, access: ProjectAccess, *, skip_ci: bool) -> None:
    """Rebase the source branch upon the target's head, in the name of the caller. Raises `Refused` for conflicts."""
    target = await here.target_head()
    if target is None or here.source is None:
        raise Refused("Rebase failed: a branch is gone.")
    async with services.database.read() as connection:
        user = await accounts.get(connection, access.caller.user_id)
    committer = Signature(user.name or user.username, user.email, services.clock())
    repository = services.repositories.get(here.source.id)
    if not here.same_project:
        await fetch_commit(repository, here.repository, target)
    done = await rebase(repository, target, here.row.head_sha, committer)
    if done.sha is None:
        raise Refused("Rebase failed: Rebase locally, resolve all conflicts, then push the branch.")
    if done.sha != here.row.head_sha:
        update = RefUpdate(here.row.head_sha, done.sha, f"refs/heads/{here.row.source_branch}")
        await update_refs(services, access, repository, [update], ("ci.skip",) if skip_ci else ())
