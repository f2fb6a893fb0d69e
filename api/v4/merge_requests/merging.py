"""Merging over the REST API: now or by itself later, with GitLab's status codes; rebasing; trial merges."""

from typing import Annotated, Final

from fastapi import Depends
from pydantic import Field
from typing_extensions import TypedDict

from api.deps import ServicesDep
from api.routes import RouteList
from api.services import Services
from api.v4.merge_requests.access import MergeRequestAccess, MergeRequestDep, shown
from api.v4.parameters import Optionals, given
from api.v4.representation.merge_requests import MergeRequestDetailsResponse
from application.access import ProjectAccess, access_to
from application.merge_requests.merging import CANNOT, merge_now
from application.merge_requests.source_branch import rebase_source
from application.merge_requests.standing import assess
from application.merge_requests.telling import tell
from application.merge_requests.wishes import MergeOptions, merge_by_itself, require_merge, strategy_of
from auth.permissions import Action
from domain.errors import Forbidden, Invalid, NotAllowed, Refused, Unauthenticated, Unmergeable
from domain.merge_requests.merge_request import (
    CONFLICTS,
    OF_CI,
    OF_GIT,
    AutoMerge,
    Blocker,
    EventType,
    State,
    blockers,
    merged_result_message,
    squashes,
)
from domain.merge_requests.notes import CANCELED
from git.reading.signature import Signature
from git.writing.merging import merge
from models.notifications import MERGES
from models.repositories.accounts import accounts
from models.repositories.merge_requests import merge_request_notes, merge_requests
from models.repositories.merge_requests.standings import Assessment

router = RouteList(prefix="/projects/{project}/merge_requests/{iid}")

_MAX_MESSAGE: Final = 100_000
_WAITED_FOR: Final = OF_CI | {Blocker.DRAFT, Blocker.NOT_APPROVED, Blocker.NOT_RESOLVED}
"""What a merge by itself waits for."""


class Merging(Optionals):
    """Parameters of `PUT .../merge`."""

    sha: str = ""
    squash: bool | None = None
    should_remove_source_branch: bool | None = None
    merge_when_pipeline_succeeds: bool = False
    auto_merge: bool = False
    merge_commit_message: str = Field(default="", max_length=_MAX_MESSAGE)
    squash_commit_message: str = Field(default="", max_length=_MAX_MESSAGE)

    @property
    def later(self) -> bool:
        """Whether it is to be merged as soon as nothing is in its way."""
        return self.merge_when_pipeline_succeeds or self.auto_merge


class Rebasing(Optionals):
    """Parameters of `PUT .../rebase`."""

    skip_ci: bool = False


class RebaseResponse(TypedDict):
    """Whether a rebase is still going on: it never is, as the call does it."""

    rebase_in_progress: bool


class MergeRefResponse(TypedDict):
    """The commit that a merge would make."""

    commit_id: str


def options_of(found: MergeRequestAccess, asked: Merging) -> MergeOptions:
    """How to merge, as far as the project lets anybody choose."""
    row = found.row
    remove = (
        row.remove_source_branch if asked.should_remove_source_branch is None else asked.should_remove_source_branch
    )
    wanted = row.squash if asked.squash is None else asked.squash
    return MergeOptions(
        squash=squashes(found.here.target.squash_option, wanted),
        remove_source_branch=remove,
        merge_commit_message=asked.merge_commit_message,
        squash_commit_message=asked.squash_commit_message,
    )


def check_sha(found: MergeRequestAccess, sha: str) -> None:
    """Raise `Refused` when somebody means another commit than the source branch has."""
    if sha and sha != found.row.head_sha:
        raise Refused(f"SHA does not match HEAD of source branch: {found.row.head_sha}")


@router.put("/merge")
async def merge_merge_request(
    asked: Annotated[Merging, Depends(given(Merging))], found: MergeRequestDep, services: ServicesDep
) -> MergeRequestDetailsResponse:
    """Merge now, or as soon as the pipeline has passed.

    Answers 401 to those who may not, 405 while something stands in the way, 422 when the branches do not go together,
    409 when `sha` is not the head of the source branch.
    """
    await require_merge(found.project, found.row.target_branch)
    assessment = await assess(services, found.here)
    later = _waits(assessment, asked)
    _require_mergeable(assessment, asked, later=later)
    check_sha(found, asked.sha)
    options = options_of(found, asked)
    if later:
        await set_auto_merge(services, found, strategy_of(found.here.target), options)
    else:
        if assessment.target_head is None:
            raise Unmergeable(CANNOT)
        await merge_now(services, found.here, found.project, assessment.target_head, options)
    return await shown(services, found)


def _waits(assessment: Assessment, asked: Merging) -> bool:
    """Whether what was asked for is to happen later."""
    standing = assessment.standing
    return asked.later and (standing.is_running or bool(_WAITED_FOR & frozenset(blockers(standing))))


def _require_mergeable(assessment: Assessment, asked: Merging, *, later: bool) -> None:
    found = frozenset(blockers(assessment.standing))
    state = found - OF_GIT - (_WAITED_FOR if later else frozenset())
    failed = asked.later and not later and assessment.standing.pipeline in {"failed", "canceled"}
    if state or failed:
        why = ", ".join(sorted(state)) or f"the pipeline is {assessment.standing.pipeline}"
        raise NotAllowed(f"Method Not Allowed: {why}")
    if found & OF_GIT:
        raise Unmergeable(CANNOT)


async def set_auto_merge(
    services: Services, found: MergeRequestAccess, strategy: AutoMerge, options: MergeOptions
) -> None:
    """Have a merge request merged, or put on its train, in the caller's name as soon as nothing is in its way."""
    row, user_id = found.row, found.project.caller.user_id
    async with services.database.write() as connection:
        await merge_by_itself(connection, row.id, row.head_sha, user_id, strategy, options, services.clock())
    await services.notifications.notify(MERGES)
    await tell(services, found.row.id, found.row.project_id)


@router.post("/cancel_merge_when_pipeline_succeeds", status_code=201)
async def cancel_auto_merge(found: MergeRequestDep, services: ServicesDep) -> MergeRequestDetailsResponse:
    """Do not merge it by itself any more: whoever may merge may say so, and whoever opened it.

    Answers 405 for one that is not open, 409 for one that was not to be merged by itself.
    """
    if found.project.caller.user_id != found.row.author_id or not found.project.caller.is_known:
        await require_merge(found.project, found.row.target_branch)
    if found.row.state != State.OPENED:
        raise NotAllowed("Method Not Allowed")
    if not found.row.auto_merge:
        raise Refused("Can't cancel the automatic merge")
    values, now, user_id = {"auto_merge": AutoMerge.NONE}, services.clock(), found.project.caller.user_id
    async with services.database.write() as connection:
        if await merge_requests.move_state(connection, found.row.id, State.OPENED, now, **values):
            await merge_request_notes.add_system(connection, found.row.id, user_id, CANCELED, now)
    await tell(services, found.row.id, found.row.project_id)
    return await shown(services, found)


@router.put("/rebase", status_code=202)
async def rebase_merge_request(
    asked: Annotated[Rebasing, Depends(given(Rebasing))], found: MergeRequestDep, services: ServicesDep
) -> RebaseResponse:
    """Rebase the source branch upon the target's head; it is done when this answers.

    A conflict is no error of the call: `merge_error` of the merge request tells it, as in GitLab.
    """
    found.project.require(Action.SEE)
    if found.row.state != State.OPENED:
        raise NotAllowed("Method Not Allowed")
    access = found.project
    if not found.here.same_project:
        access = await _source_access(services, found)
    access.require(Action.PUSH)
    error = ""
    try:
        await rebase_source(services, found.here, access, skip_ci=asked.skip_ci)
    except Refused as conflict:
        error = str(conflict)
    async with services.database.write() as connection:
        await merge_requests.change(connection, found.row.id, services.clock(), merge_error=error)
    await tell(services, found.row.id, found.row.project_id)
    return {"rebase_in_progress": False}


async def _source_access(services: Services, found: MergeRequestAccess) -> ProjectAccess:
    if found.here.source is None:
        raise Forbidden("Forbidden: Source branch does not exist")
    return await access_to(services, found.project.caller, found.here.source.id)


@router.get("/merge_ref")
async def merge_ref(found: MergeRequestDep, services: ServicesDep) -> MergeRefResponse:
    """Merge both heads to `refs/merge-requests/:iid/merge`, which says nothing of the target branch. Answers 400."""
    here, caller = found.here, found.project.caller
    if not caller.is_known:
        raise Unauthenticated("Unauthorized")  # it writes a commit
    target = await here.target_head()
    if target is None or here.row.state != State.OPENED:
        raise Invalid("Merge request is not mergeable")
    async with services.database.read() as connection:
        user = await accounts.get(connection, caller.user_id)
    signature = Signature(user.name or user.username, user.email, services.clock())
    message = merged_result_message(here.row.head_sha, target)
    try:
        made = await merge(here.repository, target, here.row.head_sha, message, signature)
    except Refused as error:
        raise Invalid(f"Merge request is not mergeable: {error}") from error
    if made.sha is None:
        raise Invalid(f"Merge request is not mergeable: {CONFLICTS}")
    await here.repository.place(here.ref(EventType.MERGED_RESULT), made.sha)
    return {"commit_id": made.sha}
