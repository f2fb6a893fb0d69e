"""The page of a merge request: what it brings, and whether it can be merged. Pushes and webhooks link here."""

from typing import Final

from fastapi import Request
from fastapi.responses import Response

from api.deps import ServicesDep
from api.pages.frame.access import PREFIX, PageProjectDep
from api.pages.frame.responses import page
from api.routes import RouteList
from api.v4.access import Id
from api.v4.merge_requests.access import merge_request_of, shown
from domain.merge_requests.merge_request import Blocker, State

router = RouteList(prefix=f"{PREFIX}/-/merge_requests")

_WORDS: Final = {
    Blocker.MERGEABLE: "It can be merged.",
    Blocker.NOT_OPEN: "It is not open.",
    Blocker.DRAFT: "It is a draft: mark it as ready first.",
    Blocker.NO_COMMITS: "Its source branch has no commits that the target branch lacks.",
    Blocker.NOT_APPROVED: "It needs more approvals.",
    Blocker.NOT_RESOLVED: "Threads of it are not resolved.",
    Blocker.CI_RUNNING: "Its pipeline has not ended yet.",
    Blocker.CI_MUST_PASS: "Its pipeline must succeed first.",
    Blocker.CHECKING: "It is not known yet whether the branches go together; look again in a moment.",
    Blocker.CONFLICT: "The branches contradict each other: merge the target branch into the source branch.",
    Blocker.NEEDS_REBASE: "The target branch has moved on: rebase the source branch.",
}
"""What stands in the way of a merge, in words."""


@router.get("/{iid}")
async def merge_request(request: Request, iid: Id, project: PageProjectDep, services: ServicesDep) -> Response:
    """A merge request as it is now."""
    found = await merge_request_of(iid, project, services)
    document = await shown(services, found)
    blocker = Blocker(document["detailed_merge_status"])
    standing = "" if document["state"] == State.MERGED else _WORDS[blocker]
    pipeline = document["head_pipeline"]
    return page(
        "merge_requests/merge_request.html",
        project.caller,
        project=project.row,
        found=document,
        row=found.row,
        pipeline=pipeline,
        pipeline_page="" if pipeline is None else pipeline["web_url"].removeprefix(services.settings.url),
        standing=standing,
        can_merge=blocker is Blocker.MERGEABLE and document["user"]["can_merge"],
        here=request.url.path,
    )
