"""Merging: the commits are made first, then one ref moves from where it was seen; the rest is recorded with its push.

While a merge request is locked its row says what its target shall become. Whoever finishes the push of that commit, we
or the process that comes after us, writes that it is merged in the transaction that makes the push's pipelines.
"""

from dataclasses import asdict, dataclass
from datetime import timedelta
from typing import Final

import structlog

from application.access import ProjectAccess, access_to, caller_from
from application.merge_requests.context import MergeContext, surroundings_of
from application.merge_requests.settling import settle_merged
from application.merge_requests.source_branch import clean_up
from application.merge_requests.telling import tell
from application.merge_requests.wishes import MergeOptions, require_merge
from application.pushes.push import move_permitted
from application.services import Services
from domain.errors import PerdureError, Refused, Unauthenticated, Unmergeable
from domain.merge_requests.merge_request import CONFLICTS, MergeMethod, State, merge_message
from domain.merge_requests.merge_train import CarStatus
from git.reading.revision import commit_named
from git.reading.signature import Signature
from git.transport.push import RefUpdate
from git.writing.merging import MergeResult, fast_forward, is_ancestor, merge, squash
from git.writing.rebasing import rebase
from models.notifications import MERGES
from models.repositories.accounts import accounts
from models.repositories.merge_requests import merge_requests, trains
from models.rows.accounts import UserRow
from models.rows.merge_requests import TrainCarRow

CANNOT: Final = "Branch cannot be merged"
STUCK: Final = timedelta(minutes=2)
"""One that is locked for so long was left by a process that died."""

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class MadeMerge:
    """The commits of a merge: `sha` is what the target branch shall be. Without it `conflicts` has the paths."""

    sha: str = ""
    merge_commit_sha: str = ""
    squash_commit_sha: str = ""
    conflicts: tuple[str, ...] = ()


async def merger(services: Services, here: MergeContext, user_id: int) -> ProjectAccess:
    """The rights of a person who has asked for a merge before. Raises `Unauthenticated`, `NotFound`."""
    async with services.database.read() as connection:
        user = await accounts.get(connection, user_id)
    if user.state != accounts.ACTIVE:
        raise Unauthenticated("Unauthorized")
    access = await access_to(services, caller_from(user), here.target.id)
    await require_merge(access, here.row.target_branch)
    return access


async def made_merge(
    services: Services,
    here: MergeContext,
    onto: str,
    user: UserRow,
    options: MergeOptions,
    *,
    may_rebase: bool = False,
) -> MadeMerge:
    """The commits of a merge upon `onto`, by the project's method; no ref leads to them. `may_rebase` is for trains.

    Raises `Refused` for branches without a common commit, or that the method wants rebased first.
    """
    committer = Signature(user.name or user.username, user.email, services.clock())
    head, squashed = here.row.head_sha, ""
    if options.squash:
        author = await _author(services, here, committer)
        text = options.squash_commit_message or here.row.title
        done = await squash(here.repository, onto, head, text, author, committer)
        head = squashed = done.sha or ""
    else:
        done = await _upon(here, onto, committer, may_rebase=may_rebase)
        head = done.sha or ""
    if not head:
        return MadeMerge(conflicts=done.conflicts)
    if here.target.merge_method == MergeMethod.FAST_FORWARD:
        return MadeMerge(head, "", squashed)
    text = options.merge_commit_message or _message(here)
    done = await merge(here.repository, onto, head, text, committer)
    return MadeMerge(done.sha or "", done.sha or "", squashed, done.conflicts)


async def _author(services: Services, here: MergeContext, committer: Signature) -> Signature:
    async with services.database.read() as connection:
        author = await accounts.get(connection, here.row.author_id)
    return Signature(author.name or author.username, author.email, committer.moment)


async def _upon(here: MergeContext, onto: str, committer: Signature, *, may_rebase: bool) -> MergeResult:
    """The source branch's head in the form that the method needs."""
    head = here.row.head_sha
    if here.target.merge_method == MergeMethod.MERGE:
        return MergeResult(head)
    if may_rebase:
        return await rebase(here.repository, onto, head, committer)
    return await fast_forward(here.repository, onto, head)


def _message(here: MergeContext) -> str:
    row = here.row
    source = row.source_branch
    if not here.same_project and here.source is not None:
        source = f"{here.source.full_path}:{source}"
    return merge_message(source, row.target_branch, row.title, here.reference)


async def merge_now(
    services: Services, here: MergeContext, access: ProjectAccess, target_head: str, options: MergeOptions
) -> None:
    """Merge upon the target's head as it was seen. Raises `Unmergeable`; nothing has changed then."""
    async with services.database.read() as connection:
        user = await accounts.get(connection, access.caller.user_id)
    try:
        made = await made_merge(services, here, target_head, user, options)
    except Refused as error:
        raise Unmergeable(f"{CANNOT}: {error}") from error
    if not made.sha:
        raise Unmergeable(f"{CANNOT}: {CONFLICTS}: {', '.join(made.conflicts)}")
    await move_target(services, here, access, target_head, made, options)


async def move_target(
    services: Services,
    here: MergeContext,
    access: ProjectAccess,
    base: str,
    made: MadeMerge,
    options: MergeOptions,
    *,
    car: TrainCarRow | None = None,
) -> None:
    """Let the target branch become a merge that is made, if both branches are where they were seen.

    Raises `Unmergeable` when they are not, `Unavailable`.
    """
    now = services.clock()
    async with services.database.write() as connection:
        row = await merge_requests.lock(connection, here.row.id)
        if row is None or row.state != State.OPENED or row.head_sha != here.row.head_sha:
            raise Unmergeable(f"{CANNOT}: it has changed meanwhile")
        if not await _is_at_its_head(services, here):
            raise Unmergeable(f"{CANNOT}: the source branch has moved meanwhile")
        if car is not None and not await trains.change(connection, car, now, status=CarStatus.MERGING):
            raise Unmergeable(f"{CANNOT}: the merge train has changed meanwhile")
        await merge_requests.change(
            connection,
            row.id,
            now,
            state=State.LOCKED,
            locked_at=now,
            merging_sha=made.sha,
            merge_commit_sha=made.merge_commit_sha,
            squash_commit_sha=made.squash_commit_sha,
            merge_user_id=access.caller.user_id,
            merge_options=asdict(options),
        )
    update = RefUpdate(base, made.sha, f"refs/heads/{row.target_branch}")
    try:
        await move_permitted(services, access, here.repository, [update])
    except PerdureError as error:
        await unlock(services, here, str(error))
        if isinstance(error, Refused):
            raise Unmergeable(f"{CANNOT}: {row.target_branch} has moved meanwhile") from error
        raise
    await tell(services, here.row.id, here.target.id)
    await clean_up(services, here.row.id)


async def _is_at_its_head(services: Services, here: MergeContext) -> bool:
    """Whether the source branch, if it is there, is where the merge request has seen it: a push may be on its way."""
    if here.source is None:
        return True
    repository = services.repositories.get(here.source.id)
    return await commit_named(repository, f"refs/heads/{here.row.source_branch}") in {None, here.row.head_sha}


async def unlock(services: Services, here: MergeContext, why: str) -> bool:
    """Open a merge request again whose target was not moved; whether it was.

    One whose target did move, though somebody died before they wrote that, is merged.
    """
    now = services.clock()
    head = await here.target_head()
    async with services.database.read() as connection:
        known = await merge_requests.get(connection, here.row.id)
    sha = "" if known is None else known.merging_sha
    moved = bool(head and sha) and await is_ancestor(here.repository, sha, head or "")
    async with services.database.write() as connection:
        row = await merge_requests.lock(connection, here.row.id)
        if row is None or row.state != State.LOCKED:
            return False
        if moved:
            await settle_merged(services, connection, row, now)
            return False
        opened = {"state": State.OPENED, "locked_at": None, "merge_user_id": None, "merge_error": why[:1_000]}
        await merge_requests.change(connection, row.id, now, **opened, merge_commit_sha="", squash_commit_sha="")
        car = await trains.of_merge_request(connection, row.id, on_the_way=True)
        if car is not None and car.status == CarStatus.MERGING:
            await trains.change(connection, car, now, status=CarStatus.FRESH)
    await services.notifications.notify(MERGES)
    await tell(services, here.row.id, here.target.id)
    return True


async def unlock_abandoned(services: Services, *, all_of_them: bool = False) -> int:
    """Open or settle what was left locked by a process that died; give back how many there were."""
    before = services.clock() - (timedelta(0) if all_of_them else STUCK)
    async with services.database.read() as connection:
        rows = await merge_requests.locked_since(connection, before)
    for row in rows:
        here = await surroundings_of(services, row.id)
        if here is not None:
            reopened = await unlock(services, here, "The server was stopped while it merged; try again.")
            log.warning("an interrupted merge is settled", merge_request=here.reference, reopened=reopened)
    return len(rows)
