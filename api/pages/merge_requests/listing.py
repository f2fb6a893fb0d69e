"""The list of a project's merge requests."""

import shlex
from dataclasses import dataclass
from typing import Annotated, Final, Literal
from urllib.parse import urlencode

from fastapi import Depends, Query, Request
from fastapi.responses import Response

from api.deps import ServicesDep
from api.pages.frame.access import PREFIX, PageProjectDep
from api.pages.frame.live import event_stream
from api.pages.frame.live_parts import Fragment
from api.pages.frame.page_count import page_count
from api.pages.frame.responses import live_page
from api.pages.frame.templates import fragment
from api.pages.merge_requests.words import STATES
from api.pages.projects.home import Number
from api.routes import RouteList
from api.services import Services
from application.access import ProjectAccess, access_to
from auth.permissions import Action
from domain.diffs.visible_text import visible
from domain.merge_requests.merge_request import State, is_draft, with_draft
from models.notifications import merge_requests_topic, pipeline_topic
from models.repositories.merge_requests import merge_request_notes, merge_request_overviews, merge_requests
from models.repositories.merge_requests.merge_requests import MergeRequestFilter
from models.repositories.paging import slice_of
from models.repositories.projects import relations

PER_PAGE: Final = 30
TABS: Final = ("opened", "merged", "closed", "all")

router = RouteList(prefix=f"{PREFIX}/-/merge_requests")


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which merge requests: a tab, words of the title, the name of an author, and the number of the page."""

    state: str
    search: str
    author: str
    number: int

    def query(self, **other: str) -> str:
        """The query of an address that wants the same but for `other`."""
        fields = {"state": self.state, "search": self.search, "author_username": self.author} | other
        return urlencode({name: value for name, value in fields.items() if value})

    def filter(self, project_id: int) -> MergeRequestFilter:
        """The same for SQL."""
        return MergeRequestFilter(
            projects=[project_id],
            state="" if self.state == "all" else self.state,
            search=self.search,
            search_in=("title",),
            author_username=self.author,
        )


async def wanted_by(
    state: Literal["opened", "merged", "closed", "all"] = "opened",
    search: Annotated[str, Query(max_length=200)] = "",
    author_username: Annotated[str, Query(max_length=200)] = "",
    number: Annotated[Number, Query(alias="page")] = 1,
) -> Wanted:
    """What an address asks for."""
    return Wanted(state, search.strip(), author_username.strip().removeprefix("@"), number)


WantedDep = Annotated[Wanted, Depends(wanted_by)]


async def draw(services: Services, project: ProjectAccess, wanted: Wanted, topics: list[str] | None = None) -> Fragment:
    """The list as the caller may see it now; `topics` takes those of the pipelines that it shows."""
    project = await access_to(services, project.caller, project.row.id)
    narrowed = wanted.filter(project.row.id)
    async with services.database.read() as connection:
        found = await slice_of(connection, merge_requests.listed(narrowed).without_texts(), wanted.number, PER_PAGE)
        ids = [row.id for row in found.rows]
        counts = await merge_request_overviews.counts_by_state(connection, narrowed)
        heads = await merge_request_overviews.head_pipelines(connection, found.rows)
        approvers = await merge_request_overviews.approver_ids(connection, ids)
        notes = await merge_request_notes.counts(connection, ids)
        people = await relations.users(connection, {row.author_id for row in found.rows})
    if topics is not None:
        topics[:] = [pipeline_topic(one.id) for one in heads.values()]
    return fragment(
        "merge_requests/_list.html",
        project=project.row,
        rows=found.rows,
        drafts={row.id for row in found.rows if is_draft(row.title)},
        titles={row.id: with_draft(row.title, draft=False) or row.title for row in found.rows},
        heads={key: one for key, one in heads.items() if one.project_id == project.row.id},
        approvers=approvers,
        required=project.row.approvals_required,
        notes=notes,
        people=people,
        states=STATES,
        tabs=[(tab, sum(counts.values()) if tab == "all" else counts.get(State(tab), 0)) for tab in TABS],
        wanted=wanted,
        last=page_count(found.total, PER_PAGE),
        may_open=project.may(Action.PUSH),
        command=_command(project.row.default_branch),
    )


def _command(target: str) -> str:
    """How somebody opens the first one."""
    push = shlex.join(["git", "push", "-o", "merge_request.create", "-o", f"merge_request.target={visible(target)}"])
    return f'git switch -c my-change\ngit commit -am "Change something"\n{push} origin my-change'


@router.get("")
async def list_page(request: Request, services: ServicesDep, project: PageProjectDep, wanted: WantedDep) -> Response:
    """The merge requests that lead into a project, the newest first."""
    live = await draw(services, project, wanted)
    events = f"/{project.row.full_path}/-/merge_requests/events"
    return live_page(
        "merge_requests/list.html",
        request,
        project.caller,
        live,
        events,
        project=project.row,
        wanted=wanted,
        may_open=project.may(Action.PUSH),
    )


@router.get("/events")
async def list_events(request: Request, services: ServicesDep, project: PageProjectDep, wanted: WantedDep) -> Response:
    """Changes of that list."""
    topic, further = merge_requests_topic(project.row.id), list[str]()

    async def drawn() -> Fragment:
        return await draw(services, project, wanted, further)

    return await event_stream(request, services, project.caller, drawn, topic, further=lambda: further)
