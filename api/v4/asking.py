"""Operations on pipelines and jobs as HTTP: the response of the workflow, GitLab's words for a refusal, or 202.

What SQL already forbids is refused at once, by the same functions that the workflow decides with; so a refusal comes
also while Temporal is away.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from fastapi.responses import JSONResponse
from typing_extensions import TypedDict

from api.services import Services
from application.pipelines.operations import Asked, ask
from domain.errors import Invalid, NotFound, Refused
from domain.messages import Answer, Operation
from domain.pipelines.commands import JOB_OPERATIONS, PIPELINE_OPERATIONS
from domain.pipelines.operations import require_playable
from domain.steps.beginning import begin_at
from models.repositories.pipelines import loading, pinned_steps
from storage.step_results import results_of

REFUSAL: Final[Mapping[str, tuple[int, str]]] = {
    "retry_job": (403, "403 Forbidden - Job is not retryable"),
    "play_job": (400, "400 Bad request - Unplayable Job"),
}
"""Status and message of a refused operation; the workflow's own reason goes beside it."""


class KeptRequestResponse(TypedDict):
    """A request that will be carried out; `key` is that of its operation."""

    key: str
    message: str


KEPT: Final[dict[int | str, dict[str, Any]]] = {202: {"model": KeptRequestResponse, "description": "Kept for later."}}
"""What an operation may answer besides what it became."""

NEVER_REFUSED: Final = frozenset({"cancel_pipeline", "cancel_job", "retry_pipeline"})
"""Where nothing is left to do, GitLab's API answers these as if it had been done, with the resource as it is."""


async def ask_or_leave(services: Services, pipeline_id: int, name: str, operation: Operation, caller_id: int) -> Asked:
    """Ask for an operation; one of `NEVER_REFUSED` for which there is nothing to do leaves a notice instead.

    Raises `Refused` with the reason for the others.
    """
    try:
        return await ask_checked(services, pipeline_id, name, operation, caller_id)
    except Refused as refused:
        if name not in NEVER_REFUSED:
            raise
        return Asked(operation.key, Answer(operation.key, name, operation.job_id), str(refused))


async def ask_checked(services: Services, pipeline_id: int, name: str, operation: Operation, caller_id: int) -> Asked:
    """Ask for an operation for somebody unless SQL forbids it already. Raises `Refused` with the reason.

    For a step at which no attempt can begin it raises `Invalid`.
    """
    async with services.database.read() as connection:
        loaded = await loading.load(connection, pipeline_id)
    if name == "play_job" and operation.job_id is not None:
        require_playable(loaded.pipeline, operation.job_id)
    # With verdicts that nobody folded, only the workflow knows what the jobs are about to become.
    if not loaded.verdicts:
        try:
            if operation.job_id is None:
                PIPELINE_OPERATIONS[name](loaded.pipeline)
            else:
                JOB_OPERATIONS[name](loaded.pipeline, operation.job_id)
        except NotFound as error:
            raise Refused(str(error)) from error
    if operation.from_step and operation.job_id is not None:
        await _check_step(services, pipeline_id, operation.job_id, operation.from_step)
    return await ask(services, pipeline_id, name, operation, caller_id)


async def _check_step(services: Services, pipeline_id: int, job_id: int, from_step: str) -> None:
    """Raise `Invalid` with the reason unless an attempt can begin at this step now; the workflow looks once more."""
    async with services.database.read() as connection:
        attempt = await pinned_steps.retried(connection, pipeline_id, job_id)
    try:
        begin_at(attempt.run, await results_of(services.store, attempt), from_step)
    except Refused as refused:
        raise Invalid(str(refused)) from refused


async def answer_with(
    services: Services,
    pipeline_id: int,
    name: str,
    operation: Operation,
    caller_id: int,
    present: Callable[[Answer], Awaitable[Mapping[str, Any]]],
    status: int = 201,
) -> JSONResponse:
    """Ask, then show by `present` what it became; 202 when the response is still to come.

    A `notice` beside what GitLab shows says that there was nothing to do.
    """
    try:
        asked = await ask_or_leave(services, pipeline_id, name, operation, caller_id)
    except Refused as refused:
        code, message = REFUSAL[name]
        return JSONResponse({"message": message, "reason": str(refused)}, code)
    if asked.answer is None:
        text = "202 Accepted: the request is kept and will be carried out; look at the pipeline again in a moment."
        kept: KeptRequestResponse = {"key": asked.key, "message": text}
        return JSONResponse(kept, 202)
    shown = await present(asked.answer)
    return JSONResponse({**shown, "notice": asked.notice} if asked.notice else shown, status)
