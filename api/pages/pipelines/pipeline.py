"""A pipeline as a graph, by stage or by needs, and what people do with it."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final, Literal

from fastapi import Depends, Query, Request
from fastapi.responses import Response

from api.deps import ServicesDep
from api.pages.frame.access import PREFIX, PageProjectDep
from api.pages.frame.asking import after
from api.pages.frame.live_parts import Fragment
from api.pages.frame.templates import fragment
from api.pages.pipelines import graph
from api.pages.pipelines.head import address_of, head_of
from api.pages.pipelines.tab import follow, show
from api.routes import RouteList
from api.services import Services
from api.v4.access import Id
from api.v4.asking import ask_or_leave
from api.v4.origin import require_our_pages
from api.v4.representation.pipelines import page_of
from application.access import ProjectAccess
from application.bridges.downstream_pipelines import Related, downstream_of
from application.jobs.explaining import absent_jobs, of_jobs
from domain.graphs.grouping import Group
from domain.messages import Operation
from domain.pipelines.status import Status
from domain.why.explanation import Explanation, Reason
from domain.why.jobless import jobless
from models.repositories.pipelines import jobs, overview, pipelines
from models.repositories.pipelines.overview import DrawnJobRow

SCRIPT: Final = "scripts/graph.js"
ATTENTION: Final = (Status.FAILED, Status.MANUAL, Status.SCHEDULED)
"""States of jobs that are named below the graph, since somebody may want to act."""
MAX_ATTENTION: Final = 10
MAX_OPENED: Final = 200
"""Jobs of a parallel one that are listed when it is opened; all of them are among the jobs."""

View = Annotated[Literal["stage", "needs"], Query()]
Opened = Annotated[int, Query(ge=-1, le=1_000_000)]

router = RouteList(prefix=f"{PREFIX}/-/pipelines/{{pipeline_id}}")


async def draw(services: Services, project: ProjectAccess, pipeline_id: int, view: str, opened: int) -> Fragment:
    """The graph as it is now, with the jobs of the node `opened`, if any. Raises `NotFound`."""
    project, head = await head_of(services, project, pipeline_id)
    async with services.database.read() as connection:
        stages = await pipelines.stages_of(connection, pipeline_id)
        rows = await overview.drawn(connection, pipeline_id)
    whys = await of_jobs(services, project, head.row, [row for row in rows if row.status != Status.SUCCESS])
    downstream = await downstream_of(services, project.caller, rows)
    address = address_of(project, pipeline_id)
    groups = await asyncio.to_thread(graph.groups_of, rows)
    drawn = graph.Drawn(rows, stages, whys, downstream, address, project.row.full_path, services.clock())
    named = [row for row in rows if row.status in ATTENTION or _is_held_up(whys.get(row.id))]
    asked = await _with_questions(services, [*_first(named), *_opened(rows, groups, opened)])
    return await asyncio.to_thread(
        _rendered,
        drawn,
        groups,
        project=project.row,
        head=head,
        address=address,
        tab="graph",
        view=view,
        stages=stages,
        jobs_of_stage=_by_stage(rows, len(stages)),
        whys=whys,
        downstream=downstream,
        below=await _below(services, downstream),
        attention=[asked[row.id] for row in _first(named)],
        attention_in_all=len(named),
        opened=[asked[row.id] for row in _opened(rows, groups, opened)],
        opened_name=groups[opened].name if 0 <= opened < len(groups) else "",
        absent=absent_jobs(services, project, head.row),
        jobless=None if rows else jobless(head.row.status, head.row.yaml_errors),
    )


def _rendered(drawn: graph.Drawn, groups: Sequence[Group], *, view: str, **values: Any) -> Fragment:
    """The template with its picture; in a thread, since a thousand jobs take time."""
    picture = graph.picture(drawn, groups, view) if len(groups) <= graph.MAX_NODES else None
    return fragment("pipelines/_pipeline.html", view=view, picture=picture, nodes=len(groups), **values)


def _is_held_up(why: Explanation | None) -> bool:
    """Whether no runner can take a job, or its runner is not heard of: nothing goes on by itself."""
    return why is not None and why.reason in {Reason.STUCK, Reason.SILENT}


def _first(rows: Sequence[DrawnJobRow]) -> Sequence[DrawnJobRow]:
    """The failed ones first."""
    return sorted(rows, key=lambda row: row.status != Status.FAILED)[:MAX_ATTENTION]


def _opened(rows: Sequence[DrawnJobRow], groups: Sequence[Group], opened: int) -> Sequence[DrawnJobRow]:
    return [rows[job] for job in groups[opened].jobs[:MAX_OPENED]] if 0 <= opened < len(groups) else []


def _by_stage(rows: Sequence[DrawnJobRow], stages: int) -> list[int]:
    numbers = [0] * stages
    for row in rows:
        numbers[row.stage_position] += 1
    return numbers


async def _with_questions(services: Services, rows: Sequence[DrawnJobRow]) -> Mapping[int, Any]:
    """The same jobs with what is asked before they are played."""
    async with services.database.read() as connection:
        return await jobs.by_ids(connection, [row.id for row in rows])


async def _below(services: Services, downstream: Mapping[int, Related]) -> list[tuple[Related, Any]]:
    """Each downstream pipeline once, with its stages; those of other pods tell only their state."""
    related = {one.row.id: one for one in downstream.values()}
    async with services.database.read() as connection:
        stages = await overview.stages_of(connection, related)
    return [(one, stages[key]) for key, one in related.items()]


@router.get("")
async def pipeline_page(
    request: Request,
    pipeline_id: Id,
    services: ServicesDep,
    project: PageProjectDep,
    view: View = "stage",
    open: Opened = -1,  # noqa: A002  # a word of the address
) -> Response:
    """One pipeline, as a graph."""
    live = await draw(services, project, pipeline_id, view, open)
    return await show(request, project, pipeline_id, "graph", live, script=SCRIPT, broad=True)


@router.get("/events")
async def pipeline_events(
    request: Request,
    pipeline_id: Id,
    services: ServicesDep,
    project: PageProjectDep,
    view: View = "stage",
    open: Opened = -1,  # noqa: A002  # a word of the address
) -> Response:
    """Changes of that page."""
    return await follow(
        request, services, project, pipeline_id, lambda: draw(services, project, pipeline_id, view, open)
    )


@router.post("/retry", dependencies=[Depends(require_our_pages)])
async def retry_pipeline(pipeline_id: Id, services: ServicesDep, project: PageProjectDep) -> Response:
    """The retry button."""
    return await _ask(services, project, pipeline_id, "retry_pipeline")


@router.post("/cancel", dependencies=[Depends(require_our_pages)])
async def cancel_pipeline(pipeline_id: Id, services: ServicesDep, project: PageProjectDep) -> Response:
    """The cancel button."""
    return await _ask(services, project, pipeline_id, "cancel_pipeline")


async def _ask(services: Services, project: ProjectAccess, pipeline_id: int, name: str) -> Response:
    async with services.database.read() as connection:
        row = await pipelines.get(connection, pipeline_id, project.row.id)
    project.require_run_of(row)
    asked = await ask_or_leave(services, pipeline_id, name, Operation(), project.caller.user_id)
    return after(asked, page_of(row, project.row.full_path))
