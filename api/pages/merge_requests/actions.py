"""What the buttons of a merge request's page do: each is the call of the REST API, answered with the page.

What is refused is told on the page, with the status that the call has.
"""

from collections.abc import Awaitable
from typing import Annotated, Any

from fastapi import Depends, Request
from fastapi.responses import RedirectResponse, Response
from pydantic import Field

from api.deps import ServicesDep
from api.errors import status_of
from api.pages.frame.access import PREFIX, PageProjectDep
from api.pages.merge_requests.merge_request import overview
from api.routes import RouteList
from api.services import Services
from api.v4.access import Id
from api.v4.merge_requests import approvals, contents, discussions, merge_trains, merging, notes
from api.v4.merge_requests.access import MergeRequestAccess, merge_request_of
from api.v4.merge_requests.note_access import NoteAccess, thread_of
from api.v4.origin import require_our_pages
from api.v4.parameters import Optionals, given
from application.merge_requests import changing
from application.merge_requests.notes import resolve as resolve_thread
from domain.errors import Forbidden, Invalid, NotFound, Refused, TooMany, Unauthenticated
from domain.merge_requests.merge_request import State, with_draft
from domain.merge_requests.notes import MAX_BODY

router = RouteList(prefix=f"{PREFIX}/-/merge_requests/{{iid}}", dependencies=[Depends(require_our_pages)])

_MAY_NOT = "Your account may not do this here."


async def _found(iid: Id, project: PageProjectDep, services: ServicesDep) -> MergeRequestAccess:
    return await merge_request_of(iid, project, services)


FoundDep = Annotated[MergeRequestAccess, Depends(_found)]


async def answered(
    request: Request, services: Services, found: MergeRequestAccess, doing: Awaitable[Any], note: str = ""
) -> Response:
    """Back to the page once something is done; the page with the reason where it is not."""
    project, iid = found.project, found.row.iid
    try:
        await doing
    except (Refused, Invalid, Forbidden, Unauthenticated, TooMany) as error:
        if not project.caller.is_known:
            raise
        refused = Forbidden(_MAY_NOT) if str(error) in {"Unauthorized", "Forbidden"} else error
        status = 403 if isinstance(error, Unauthenticated) else status_of(refused)
        words = str(refused).removeprefix("Forbidden: ").removeprefix("Method Not Allowed: ")
        return await overview(request, services, project, iid, problem=words, status=status, note=note)
    return RedirectResponse(f"/{project.row.full_path}/-/merge_requests/{iid}", 303)


@router.post("/merge")
async def merge(
    request: Request,
    found: FoundDep,
    asked: Annotated[merging.Merging, Depends(given(merging.Merging))],
    services: ServicesDep,
) -> Response:
    """Merge it now, or with `auto_merge` as soon as nothing is in its way."""
    return await answered(request, services, found, merging.merge_merge_request(asked, found, services))


@router.post("/cancel_auto_merge")
async def cancel_auto_merge(request: Request, found: FoundDep, services: ServicesDep) -> Response:
    """Do not merge it by itself any more."""
    return await answered(request, services, found, merging.cancel_auto_merge(found, services))


@router.post("/rebase")
async def rebase(request: Request, found: FoundDep, services: ServicesDep) -> Response:
    """Rebase the source branch upon the target's head."""
    return await answered(request, services, found, merging.rebase_merge_request(merging.Rebasing(), found, services))


@router.post("/train")
async def put_on_train(
    request: Request,
    found: FoundDep,
    asked: Annotated[merge_trains.Boarding, Depends(given(merge_trains.Boarding))],
    services: ServicesDep,
) -> Response:
    """Put it on the merge train of its target branch, with `auto_merge` when its pipeline has passed."""
    return await answered(request, services, found, merge_trains.put_on_train(asked, found, services))


@router.post("/leave_train")
async def leave_train(request: Request, found: FoundDep, services: ServicesDep) -> Response:
    """Take it off its merge train."""
    return await answered(request, services, found, _left(services, found))


async def _left(services: Services, found: MergeRequestAccess) -> None:
    try:
        await merge_trains.take_off_train(found, services)
    except NotFound as error:
        raise Refused("It is not on a merge train any more.") from error


@router.post("/approve")
async def approve(
    request: Request,
    found: FoundDep,
    asked: Annotated[approvals.Approving, Depends(given(approvals.Approving))],
    services: ServicesDep,
) -> Response:
    """Approve it as it was seen."""
    return await answered(request, services, found, approvals.approve(asked, found, services))


@router.post("/unapprove")
async def unapprove(request: Request, found: FoundDep, services: ServicesDep) -> Response:
    """Take the caller's approval back."""
    return await answered(request, services, found, _unapproved(services, found))


async def _unapproved(services: Services, found: MergeRequestAccess) -> None:
    try:
        await approvals.unapprove(found, services)
    except NotFound as error:
        raise Refused("You have not approved it.") from error


@router.post("/pipelines")
async def run_pipeline(request: Request, found: FoundDep, services: ServicesDep) -> Response:
    """Make a pipeline for its head."""
    return await answered(request, services, found, contents.create_pipeline(found, services))


@router.post("/close")
async def close(request: Request, found: FoundDep, services: ServicesDep) -> Response:
    """Close it."""
    return await answered(request, services, found, _moved(services, found, State.CLOSED))


@router.post("/reopen")
async def reopen(request: Request, found: FoundDep, services: ServicesDep) -> Response:
    """Open it again."""
    return await answered(request, services, found, _moved(services, found, State.OPENED))


async def _moved(services: Services, found: MergeRequestAccess, state: State) -> None:
    found.require_change()
    user_id = found.project.caller.user_id
    if found.row.state != state:
        how = changing.close if state is State.CLOSED else changing.reopen
        await how(services, found.here, user_id)


@router.post("/draft")
async def draft(request: Request, found: FoundDep, services: ServicesDep) -> Response:
    """Mark it as a draft."""
    return await answered(request, services, found, _marked(services, found, is_draft=True))


@router.post("/ready")
async def ready(request: Request, found: FoundDep, services: ServicesDep) -> Response:
    """Mark it as ready."""
    return await answered(request, services, found, _marked(services, found, is_draft=False))


async def _marked(services: Services, found: MergeRequestAccess, *, is_draft: bool) -> None:
    found.require_change()
    title = with_draft(found.row.title, is_draft)
    if title != found.row.title:
        await changing.change(services, found.here, {"title": title}, found.project.caller.user_id)


class _Comment(Optionals):
    """What somebody writes."""

    body: str = Field(default="", max_length=MAX_BODY)


@router.post("/notes")
async def comment(
    request: Request, found: FoundDep, asked: Annotated[_Comment, Depends(given(_Comment))], services: ServicesDep
) -> Response:
    """Write a comment."""
    return await answered(request, services, found, _written(services, found, asked.body), asked.body)


async def _written(services: Services, found: MergeRequestAccess, body: str) -> None:
    if not body.strip():
        raise Invalid("The comment is empty; write something.")
    await notes.create_note(notes.NewNote(body=body), NoteAccess(found), services)


@router.post("/discussions/{discussion_id}/resolve")
async def resolve(
    request: Request,
    discussion_id: str,
    found: FoundDep,
    asked: Annotated[discussions.Resolving, Depends(given(discussions.Resolving))],
    services: ServicesDep,
) -> Response:
    """Resolve a thread, or open it again."""
    return await answered(request, services, found, _resolved(services, found, discussion_id, asked.resolved))


async def _resolved(services: Services, found: MergeRequestAccess, discussion_id: str, resolved: bool) -> None:
    access = NoteAccess(found)
    access.require_resolve()
    thread = await thread_of(discussion_id, access, services)
    await resolve_thread(services, thread, found.project.caller.user_id, resolved=resolved)
