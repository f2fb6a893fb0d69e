"""Who takes part in a merge request, who reviews it, and the issues that it names: there are none here."""

from typing import Any

from fastapi.responses import JSONResponse
from typing_extensions import TypedDict

from api.deps import ServicesDep
from api.routes import RouteList
from api.v4.merge_requests.access import MergeRequestDep
from api.v4.merge_requests.note_access import NotesDep
from api.v4.pagination import PagingDep
from api.v4.representation.people import PersonResponse, person
from domain.moments import moment
from models.repositories.merge_requests import merge_request_notes, merge_requests
from models.repositories.projects import relations

router = RouteList(prefix="/projects/{project}/merge_requests/{iid}")


class ReviewerResponse(TypedDict):
    """Somebody who is to review, and whether they have."""

    user: PersonResponse
    state: str
    created_at: str


@router.get("/participants", response_model=list[PersonResponse])
async def list_participants(notes: NotesDep, services: ServicesDep, paging: PagingDep) -> JSONResponse:
    """Author, assignees, reviewers, and whoever wrote a note that the caller may read."""
    row, url = notes.found.row, services.settings.url
    async with services.database.read() as connection:
        known = dict(await relations.users(connection, {row.author_id, *row.assignee_ids, *row.reviewer_ids}))
        known |= {one.id: one for one in await merge_request_notes.authors(connection, notes.seen(system=False))}
    order = dict.fromkeys([row.author_id, *row.assignee_ids, *row.reviewer_ids, *known])
    people = [person(known[key], url) for key in order if key in known]
    return paging.response(paging.of(people), len(people))


@router.get("/reviewers", response_model=list[ReviewerResponse])
async def list_reviewers(found: MergeRequestDep, services: ServicesDep, paging: PagingDep) -> JSONResponse:
    """Who is to review it: `unreviewed`, or `approved` by now. When somebody was asked is not kept."""
    row, url = found.row, services.settings.url
    async with services.database.read() as connection:
        known = await relations.users(connection, row.reviewer_ids)
        approved = {one.id for one in await merge_requests.approvals(connection, row.id)}
    reviewers: list[ReviewerResponse] = [
        {
            "user": person(known[key], url),
            "state": "approved" if key in approved else "unreviewed",
            "created_at": moment(row.created_at),
        }
        for key in row.reviewer_ids
        if key in known
    ]
    return paging.response(paging.of(reviewers), len(reviewers))


@router.get("/closes_issues", response_model=list[dict[str, Any]])
@router.get("/related_issues", response_model=list[dict[str, Any]])
async def list_issues(_: MergeRequestDep, paging: PagingDep) -> JSONResponse:
    """No issues: Perdure keeps none."""
    return paging.response([], 0)
