"""The form that changes what a merge request says and where it leads."""

from typing import Annotated

from fastapi import Depends, Request
from fastapi.responses import RedirectResponse, Response

from api.deps import ServicesDep
from api.pages.frame.access import PREFIX, PageProjectDep
from api.pages.frame.responses import page
from api.pages.merge_requests.new_request import MAX_BRANCHES, Filled, filled_from
from api.routes import RouteList
from api.v4.access import Id
from api.v4.merge_requests.access import MergeRequestAccess, merge_request_of
from api.v4.merge_requests.merge_requests import RequestChanges, change_merge_request
from api.v4.origin import require_our_pages
from api.v4.parameters import parameters, validated
from domain.errors import Invalid, NotFound, Refused
from domain.merge_requests.merge_request import MAX_TITLE, State

router = RouteList(prefix=f"{PREFIX}/-/merge_requests/{{iid}}")


async def _sent(request: Request, services: ServicesDep) -> Filled:
    return filled_from(await parameters(request, services.settings.sizes.json_bytes))


@router.get("/edit")
async def show_form(iid: Id, project: PageProjectDep, services: ServicesDep) -> Response:
    """The form, with what it says now."""
    found = await merge_request_of(iid, project, services)
    found.require_change()
    row = found.row
    now = Filled(
        target_branch=row.target_branch,
        title=row.title,
        description=row.description,
        squash=row.squash,
        remove_source_branch=row.remove_source_branch,
    )
    return await _page(found, now)


@router.post("", dependencies=[Depends(require_our_pages)])
async def save(
    iid: Id, project: PageProjectDep, services: ServicesDep, filled: Annotated[Filled, Depends(_sent)]
) -> Response:
    """Write it; what is wrong is told beside the form as it was filled in."""
    found = await merge_request_of(iid, project, services)
    found.require_change()
    wanted = {
        "title": filled.title.strip(),
        "description": filled.description,
        "squash": filled.squash,
        "remove_source_branch": filled.remove_source_branch,
    }
    if filled.target_branch and filled.target_branch != found.row.target_branch:
        wanted["target_branch"] = filled.target_branch
    try:
        await change_merge_request(validated(RequestChanges, wanted), found, services)
    except (Invalid, Refused) as error:
        return await _page(found, filled, str(error), 400)
    return RedirectResponse(f"/{project.row.full_path}/-/merge_requests/{iid}", 303)


async def _page(found: MergeRequestAccess, filled: Filled, fault: str = "", status: int = 200) -> Response:
    try:
        names = [ref.short_name for ref in (await found.here.repository.branches())[:MAX_BRANCHES]]
    except NotFound:
        names = []
    base = f"/{found.project.row.full_path}/-/merge_requests/{found.row.iid}"
    return page(
        "merge_requests/edit.html",
        found.project.caller,
        status,
        project=found.project.row,
        row=found.row,
        filled=filled,
        branches=[name for name in names if not found.here.same_project or name != found.row.source_branch],
        leads_elsewhere=found.row.state == State.OPENED,
        squash_option=found.here.target.squash_option,
        max_title=MAX_TITLE,
        fault=fault,
        base=base,
        here=f"{base}/edit",
    )
