"""What a runner is told of a job that it was handed out, or why the job cannot run at all.

Read in the transaction of the claim, so that a job whose payload cannot be built never leaves it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from sqlalchemy.ext.asyncio import AsyncConnection

from api.runner.payloads import document as payload
from api.runner.payloads.artifacts import dependency
from api.runner.payloads.deploy_token import deploy_variables
from api.runner.payloads.hand_out_tokens import archive_token, hand_out_token
from api.runner.payloads.id_tokens import id_tokens
from api.runner.runner_features import fail_unsupported
from application.jobs.foreign_dependencies import (
    ForeignArchive,
    asks_beyond,
    foreign_dependencies,
    gone_dependencies,
    with_dotenv,
)
from application.jobs.variables import JobRunner, job_variables
from application.pipelines.sealed_values import with_opened_variables
from application.services import Services
from domain.errors import NotFound
from domain.pipelines.status import Status
from git.reading.ref_presence import has_ref
from models.repositories.logs import traces
from models.repositories.pipelines import verdicts
from models.repositories.queue.hand_outs import HandOut
from models.rows.pipelines import PipelineRow

_MISSING: Final = "missing_dependency_failure"


@dataclass(frozen=True, slots=True)
class Ready:
    """A job that can run: `rows` with all its variables, its token, and archives from outside its pipeline."""

    runner: JobRunner
    rows: HandOut
    token: str
    archives: Sequence[ForeignArchive]


async def make_ready(
    connection: AsyncConnection, services: Services, runner: JobRunner, rows: HandOut, features: frozenset[str] | None
) -> Ready | None:
    """Look whether a job can run; None for one that lacks a dependency or a feature of its runner: it has failed."""
    if await fail_unsupported(connection, rows, features, services.clock()):
        return None
    rows = replace(
        with_opened_variables(services.sealer, rows),
        deploy_variables=deploy_variables(services, rows.deploy_token),
        deploy_token=None,
        ref_gone=await _is_ref_gone(services, rows.pipeline),
    )
    token = hand_out_token(services, runner, rows)
    found = await gone_dependencies(connection, services, rows)
    if not found.missing and asks_beyond(rows):
        variables = job_variables(rows, runner, token, services.settings)
        found = await foreign_dependencies(connection, services, rows, variables, to_begin=True)
        rows = with_dotenv(rows, found)
    if found.missing:
        await traces.add_words(connection, rows.job.id, f"This job cannot run: {'; '.join(found.missing)}.")
        await verdicts.end_jobs(connection, [rows.job.id], Status.FAILED, services.clock(), reason=_MISSING)
        return None
    return Ready(runner, rows, token, found.archives)


async def _is_ref_gone(services: Services, pipeline: PipelineRow) -> bool:
    """Whether the branch or tag of a pipeline was deleted since it was made, or its project has no repository left."""
    ref = payload.moving_ref(pipeline)
    if not ref:
        return False
    try:
        return not await has_ref(services.repositories.get(pipeline.project_id).path, ref)
    except NotFound:
        return True


async def document_of(connection: AsyncConnection, services: Services, ready: Ready) -> dict[str, Any]:
    """The payload."""
    rows, runner, token = ready.rows, ready.runner, ready.token
    issued = await id_tokens(connection, services, rows, runner, token)
    document = payload.build(rows, runner, token, services.settings, issued)
    for archive in ready.archives:
        narrow = archive.token or archive_token(services, runner, rows, archive.id)
        document["dependencies"].append(dependency(archive, narrow))
    return document
