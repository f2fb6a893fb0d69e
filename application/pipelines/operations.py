"""Operations that people ask for by the API: checked in SQL first, decided by the workflow, never lost.

An answer that does not come in time becomes 202 with the key: the outbox carries the command from then on. Who asks,
and variables and inputs for a job that is started, wait in SQL under that key; neither Temporal nor the outbox ever
holds them.
"""

import asyncio
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Final
from uuid import uuid4

import structlog
from temporalio.client import WorkflowUpdateFailedError, WorkflowUpdateRPCTimeoutOrCancelledError
from temporalio.service import RPCError, RPCStatusCode

from application.pipelines.sealed_values import given_variables
from application.services import Services
from domain.errors import Refused, Unavailable
from domain.messages import Answer, Operation, PipelineFacts
from models.notifications import OUTBOX
from models.repositories.pipelines import job_details, operation_callers, outbox, pipelines, play_variables

_TRY_AGAIN: Final = frozenset(
    {RPCStatusCode.RESOURCE_EXHAUSTED, RPCStatusCode.FAILED_PRECONDITION, RPCStatusCode.NOT_FOUND}
)
"""Too many updates at once, or the run closed under our hands: the next try finds another run."""

_CLOSED_BEFORE_THE_ANSWER: Final = "AcceptedUpdateCompletedWorkflow"
"""The type of Temporal's own error for an update whose run was closed, say terminated, with its answer open."""

_MAX_ATTEMPTS: Final = 3

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Asked:
    """What became of a request: the workflow's answer, or None when it is still to come.

    `notice` says why there was nothing to do.
    """

    key: str
    answer: Answer | None
    notice: str = ""


async def ask(services: Services, pipeline_id: int, name: str, operation: Operation, caller_id: int) -> Asked:
    """Ask the workflow of a pipeline, open or closed, for somebody. Raises `Refused` with the workflow's reason."""
    operation = replace(operation, key=operation.key or str(uuid4()))
    async with services.database.write() as connection:
        await operation_callers.put(connection, pipeline_id, operation.job_id, caller_id, name=name, key=operation.key)
        if (operation.variables or operation.inputs) and operation.job_id is not None:
            url = await job_details.environment_url(connection, operation.job_id)
            given = given_variables(services.sealer, operation.variables, url), operation.inputs
            await play_variables.put(connection, pipeline_id, operation.key, operation.job_id, *given)
    operation = replace(operation, variables={}, inputs={})
    async with services.database.read() as connection:
        facts = (await pipelines.facts_of(connection, [pipeline_id]))[pipeline_id]
    answer = await _answer_in_time(services, facts, name, operation)
    if answer is None:
        await _leave_in_outbox(services, pipeline_id, name, operation)
    return Asked(operation.key, answer)


async def _answer_in_time(services: Services, facts: PipelineFacts, name: str, operation: Operation) -> Answer | None:
    """What the workflow answers, None if it is not within `PERDURE_COMMAND_ANSWER` seconds. Raises `Refused`.

    The client's own limit is one of each call: it calls a busy server again for a quarter of a minute, and waits for
    ever for what a workflow has accepted.
    """
    patience = services.settings.times.command_answer
    try:
        async with asyncio.timeout(patience):
            return await _answer(services, facts, name, operation, timedelta(seconds=patience))
    except (WorkflowUpdateRPCTimeoutOrCancelledError, TimeoutError, Unavailable):
        return None
    except RPCError as error:
        log.warning("the workflow did not answer; the outbox carries the command", error=str(error))
        return None


async def _answer(
    services: Services, facts: PipelineFacts, name: str, operation: Operation, patience: timedelta
) -> Answer:
    for attempt in range(_MAX_ATTEMPTS):
        try:
            return await services.temporal.pipelines.ask(facts, name, operation, patience)
        except WorkflowUpdateFailedError as error:
            if getattr(error.cause, "type", "") != _CLOSED_BEFORE_THE_ANSWER:
                raise Refused(_reason(error)) from error
        except RPCError as error:
            if error.status not in _TRY_AGAIN or attempt == _MAX_ATTEMPTS - 1:
                raise
    raise Unavailable("The workflow was closed again and again before it answered.")


def _reason(error: WorkflowUpdateFailedError) -> str:
    cause = error.cause
    return getattr(cause, "message", None) or str(cause)


async def _leave_in_outbox(services: Services, pipeline_id: int, name: str, operation: Operation) -> None:
    async with services.database.write() as connection:
        await outbox.put(
            connection,
            outbox.COMMAND,
            pipeline_id,
            services.clock(),
            job_ids=[operation.job_id],
            payload={
                "name": name,
                "key": operation.key,
                "reason": operation.reason,
                "from_step": operation.from_step,
            },
        )
    await services.notifications.notify(OUTBOX)
