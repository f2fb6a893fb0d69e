"""The configuration that a pipeline was made from: beside each job the clause that decided, and the whole YAML."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from fastapi import Request
from fastapi.responses import PlainTextResponse, Response

from api.deps import ServicesDep
from api.pages.frame.access import PREFIX, PageProjectDep
from api.pages.frame.responses import SECURITY
from api.pages.pipelines.tab import draw_head, head_events, pages, show
from api.pages.projects.home import Number
from api.routes import RouteList
from api.services import Services
from api.v4.access import Id
from application.access import ProjectAccess
from application.jobs.explaining import absent_jobs
from application.pipelines.sealed_values import reason_shown
from auth.permissions import Action
from domain.config.merged import merged_yaml, parts_of
from domain.errors import NotFound
from domain.variables.job_variables import group_name
from models.repositories.paging import slice_of
from models.repositories.pipelines import configurations, pipelines, reasons
from models.rows.pipelines import PipelineRow

ROWS: Final = 100
MAX_SHOWN: Final = 200_000
"""Characters of the YAML on the page; all of it is behind the link."""
MAX_CLAUSES: Final = 20
MAX_ABSENT: Final = 500

router = RouteList(prefix=f"{PREFIX}/-/pipelines/{{pipeline_id}}")


@dataclass(frozen=True, slots=True)
class JobConfig:
    """A job: why it is in the pipeline, the clauses that were looked at, and its part of the YAML, if that is shown."""

    id: int
    name: str
    stage: str
    text: str
    clause: str
    tried: Sequence[Mapping[str, Any]]
    yaml: str


def may_read_config(project: ProjectAccess) -> bool:
    """Whether the caller may see the merged YAML: it holds what other projects' files say, and what inputs were given.

    Who may only read sees which clauses decided, without values that are not for everybody.
    """
    return project.may(Action.INSPECT)


@router.get("/config")
async def config_page(
    request: Request, pipeline_id: Id, services: ServicesDep, project: PageProjectDep, page: Number = 1
) -> Response:
    """The configuration."""
    live = await draw_head(services, project, pipeline_id, "config")
    async with services.database.read() as connection:
        row = await pipelines.get(connection, pipeline_id, project.row.id)
        found = await slice_of(connection, reasons.listed(pipeline_id), page, ROWS)
        kept = await configurations.of_pipeline(connection, pipeline_id)
    why = row.reasons.get("why")
    readable = kept if kept and may_read_config(project) else b""
    jobs, text = await asyncio.to_thread(_drawn, services, project, row, found.rows, readable)
    return await show(
        request,
        project,
        pipeline_id,
        "config",
        live,
        "pipelines/config.html",
        pipeline=row,
        why=reason_shown(services.sealer, why, may_run=project.may_run(row)) if why else None,
        jobs=jobs,
        total=found.total,
        absent=absent_jobs(services, project, row)[:MAX_ABSENT] if page == 1 else [],
        absent_in_all=len(row.reasons.get("absent", [])),
        includes=row.reasons.get("includes", []),
        warnings=row.reasons.get("warnings", []),
        is_kept=kept is not None,
        may_read=may_read_config(project),
        text=text[:MAX_SHOWN],
        is_cut=len(text) > MAX_SHOWN,
        number=page,
        last=pages(found.total, ROWS),
    )


def _drawn(
    services: Services,
    project: ProjectAccess,
    row: PipelineRow,
    found: Sequence[reasons.ExplainedJob],
    kept: bytes,
) -> tuple[list[JobConfig], str]:
    """The jobs of a page with their parts of the YAML, and all of it; in a thread, since YAML takes time."""
    may_run = project.may_run(row)
    names = {job.id: group_name(job.name) for job in found}
    parts = parts_of(kept, {*names.values(), *(job.name for job in found)}) if kept else {}
    jobs = []
    for job in found:
        why = reason_shown(services.sealer, job.why, may_run=may_run)
        jobs.append(
            JobConfig(
                id=job.id,
                name=job.name,
                stage=job.stage_name,
                text=why.get("text", ""),
                clause=why.get("clause", ""),
                tried=why.get("tried", [])[-MAX_CLAUSES:],
                yaml=parts.get(job.name) or parts.get(names[job.id], ""),
            )
        )
    return jobs, merged_yaml(kept) if kept else ""


@router.get("/config.yml")
async def config_text(pipeline_id: Id, services: ServicesDep, project: PageProjectDep) -> Response:
    """The merged YAML as a file. Raises `NotFound`."""
    project.require(Action.INSPECT)
    async with services.database.read() as connection:
        await pipelines.get(connection, pipeline_id, project.row.id)
        kept = await configurations.of_pipeline(connection, pipeline_id)
    if kept is None:
        raise NotFound(f"The configuration of pipeline {pipeline_id} was not kept.")
    headers = {**SECURITY, "Content-Disposition": f'inline; filename="pipeline-{pipeline_id}.yml"'}
    return PlainTextResponse(await asyncio.to_thread(merged_yaml, kept), headers=headers)


router.get("/config/events")(head_events("config"))
