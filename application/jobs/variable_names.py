"""The variables of a job by name, and where each comes from: nothing of their values is read.

The order is that of `application.jobs.variables`; what the server defines itself is left out, since every job has it.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from sqlalchemy.ext.asyncio import AsyncConnection

from domain.variables.ci_variables import CiVariable, chosen
from domain.variables.named_variables import NamedVariable, named
from models.repositories.environments import environments
from models.repositories.namespaces import namespaces
from models.repositories.projects import ci_variables
from models.repositories.queue import hand_outs
from models.rows.pipelines import JobRow, PipelineRow
from models.rows.variables import CiVariableRow

CONFIGURATION: Final = "configuration"
EARLIER_JOBS: Final = "jobs before it"
INSTANCE: Final = "instance"
PROJECT: Final = "project"
JOB: Final = "this job, when it was started"
_PIPELINE: Final[Mapping[str, str]] = {
    "schedule": "pipeline, from its schedule",
    "trigger": "pipeline, from its trigger",
    "pipeline": "pipeline, from the pipeline above it",
    "parent_pipeline": "pipeline, from the pipeline above it",
    "web": "pipeline, from the form that started it",
    "api": "pipeline, from the call that started it",
    "push": "pipeline, from the push",
}


async def of_job(connection: AsyncConnection, job: JobRow, pipeline: PipelineRow) -> Sequence[NamedVariable]:
    """The variables that an attempt of a job gets now, by name."""
    entries = await hand_outs.dotenv(connection, job)
    return named(
        [
            (CONFIGURATION, job.plan.get("variables", {})),
            (EARLIER_JOBS, [entry["key"] for entry in entries]),
            *await _of_owners(connection, job, pipeline),
            (_PIPELINE.get(pipeline.source, "pipeline"), [item["key"] for item in pipeline.variables]),
            (JOB, [item["key"] for item in job.variables]),
        ]
    )


async def _of_owners(
    connection: AsyncConnection, job: JobRow, pipeline: PipelineRow
) -> Sequence[tuple[str, Sequence[str]]]:
    """Those of instance, groups and project that the job gets, the farthest owner first."""
    rows = await ci_variables.reaching(connection, job.project_id)
    if not rows:
        return ()
    environment = ""
    if job.environment_id is not None:
        known = await environments.by_ids(connection, [job.environment_id])
        environment = known[job.environment_id].name if job.environment_id in known else ""
    layers: list[tuple[str, Sequence[str]]] = []
    for level in sorted({level for level, _ in rows}):
        own = [row for of_level, row in rows if of_level == level]
        names = chosen(
            [_nameless(row, level) for row in own], protected=pipeline.ref_protected, environment=environment
        )
        layers.append((await _owner(connection, own[0]), [variable.key for variable in names]))
    return layers


def _nameless(row: CiVariableRow, level: int) -> CiVariable:
    return CiVariable(row.key, "", level, protected=row.protected, environment_scope=row.environment_scope)


async def _owner(connection: AsyncConnection, row: CiVariableRow) -> str:
    if row.project_id is not None:
        return PROJECT
    if row.namespace_id is None:
        return INSTANCE
    group: Any = await namespaces.find(connection, key=row.namespace_id)
    return "group" if group is None else f"group {group.full_path}"
