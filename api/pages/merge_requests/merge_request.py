"""The page of a merge request: what it is, how it stands, what was said. Pushes and webhooks link here."""

import shlex
from typing import Any

from fastapi import Request
from fastapi.responses import Response

from api.deps import ServicesDep
from api.pages.frame.access import PREFIX, PageProjectDep
from api.pages.frame.fair_turns import fair_turn
from api.pages.frame.live import event_stream
from api.pages.frame.live_parts import Fragment
from api.pages.frame.responses import live_page
from api.pages.frame.shown_texts import shown_texts
from api.pages.frame.templates import fragment
from api.pages.merge_requests.activity import Window, WindowDep, activity_of
from api.pages.merge_requests.look import Look, look_at
from api.pages.merge_requests.reports import ReportReader, by_severity
from api.pages.merge_requests.words import BLOCKERS, CARS, SCANNERS, STATES
from api.routes import RouteList
from api.services import Services
from api.v4.access import Id
from api.v4.merge_requests.access import merge_request_of
from api.v4.merge_requests.note_access import NoteAccess
from application.access import ProjectAccess
from domain.merge_requests.merge_request import merge_message, with_draft
from domain.pipelines.status import COMPLETE
from models.notifications import merge_request_topic, merge_requests_topic, pipeline_topic
from models.repositories.texts.rendered_texts import REQUESTS

router = RouteList(prefix=f"{PREFIX}/-/merge_requests/{{iid}}")


async def values_of(services: Services, look: Look, window: Window) -> dict[str, Any]:
    """The values for the templates of a merge request's page, by name."""
    await fair_turn()
    activity = await activity_of(services, NoteAccess(look.found), window)
    description = (await shown_texts(services, REQUESTS, [look.row.id])).get(look.row.id)
    await fair_turn()
    row, target = look.row, look.found.here.target
    source = row.source_branch
    if not look.found.here.same_project and look.found.here.source is not None:
        source = f"{look.found.here.source.full_path}:{source}"
    return {
        "project": look.found.project.row,
        "look": look,
        "row": row,
        "title": with_draft(row.title, draft=False) or row.title,
        "description": description,
        "states": STATES,
        "blockers": [BLOCKERS[one] for one in look.in_the_way],
        "mergeable": look.is_open and not look.in_the_way,
        "cars": CARS,
        "scanners": SCANNERS,
        "by_severity": by_severity,
        "ended": look.pipeline is not None and look.pipeline.status in COMPLETE,
        "source": source,
        "squash_option": target.squash_option,
        "merge_method": target.merge_method,
        "trains": target.merge_trains_enabled,
        "message": merge_message(source, row.target_branch, row.title, look.found.here.reference),
        "fetch": f"{shlex.join(['git', 'fetch', 'origin', row.source_branch])}\ngit switch --detach FETCH_HEAD",
        "activity": activity,
        "base": f"/{look.found.project.row.full_path}/-/merge_requests/{row.iid}",
    }


async def overview(
    request: Request,
    services: Services,
    project: ProjectAccess,
    iid: int,
    *,
    window: Window = Window(),
    problem: str = "",
    status: int = 200,
    note: str = "",
) -> Response:
    """The whole page; `problem` is why what was asked for was not done, `note` a comment that was not written."""
    await fair_turn()
    look = await look_at(services, project, iid, ReportReader(services))
    values = await values_of(services, look, window)
    live = fragment("merge_requests/_overview.html", **values)
    await fair_turn()
    response = live_page(
        "merge_requests/merge_request.html",
        request,
        project.caller,
        live,
        f"{values['base']}/events",
        problem=problem,
        written=note,
        **values,
    )
    response.status_code = status
    return response


@router.get("")
async def merge_request(
    request: Request,
    iid: Id,
    project: PageProjectDep,
    services: ServicesDep,
    window: WindowDep,
) -> Response:
    """A merge request as it is now."""
    return await overview(request, services, project, iid, window=window)


@router.get("/events")
async def merge_request_events(
    request: Request,
    iid: Id,
    project: PageProjectDep,
    services: ServicesDep,
    window: WindowDep,
) -> Response:
    """Changes of it: of itself, of its pipeline, and of the branches of its project."""
    reader = ReportReader(services)
    found = await merge_request_of(iid, project, services)
    topics = (merge_request_topic(found.row.id), merge_requests_topic(project.row.id))
    of_pipeline: list[str] = []

    async def drawn() -> Fragment:
        await fair_turn()
        look = await look_at(services, project, iid, reader)
        of_pipeline[:] = [pipeline_topic(look.pipeline.id)] if look.pipeline is not None else []
        return fragment("merge_requests/_overview.html", **await values_of(services, look, window))

    return await event_stream(request, services, project.caller, drawn, *topics, further=lambda: of_pipeline)
