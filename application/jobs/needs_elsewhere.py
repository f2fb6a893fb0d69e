"""Needs of jobs that projects of other pods have: asked for while the job waits outside of the queue.

A claim holds the queue, so it asks nobody: it sends the job out of the queue, and the loop of calls between pods brings
it back with the answers. A pod that is away keeps those jobs waiting that need something of it, and nobody else.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from datetime import timedelta
from typing import Any, Final

from pydantic import TypeAdapter

from application.jobs.foreign_dependencies import needs_of, sealed_for_need
from application.jobs.variables import job_variables
from application.pipelines.sealed_values import with_opened_variables
from application.pods.cluster import Cluster
from application.pods.cross_pod_people import account_at_home
from application.pods.other_pods import other_pod
from application.pods.pod_calls import ask
from application.services import Services
from domain.errors import Forbidden, Invalid, Refused, TooLarge
from domain.pipelines.cross_pod_needs import GOOD_FOR, Needed, NeedRequest
from domain.pipelines.status import Status
from models.notifications import JOBS, OTHER_PODS
from models.repositories.pipelines import cross_pod_needs, outbox
from models.repositories.queue import hand_outs
from models.repositories.queue.hand_outs import HandOut
from models.rows.cross_pod import CrossPodNeedRow
from models.rows.outbox import UnsentRow

NEEDED: Final = TypeAdapter(Needed)
_GRACE: Final = timedelta(hours=1)
"""As that of job tokens."""


@dataclass(frozen=True, slots=True)
class _NoRunner:
    """Nobody has the job yet: needs cannot speak of runners."""

    id: int = 0
    description: str = ""
    tags: Sequence[str] = ()
    maximum_timeout: int | None = None


async def let_wait(services: Services, job_id: int) -> None:
    """Take a job out of the queue until other pods have answered."""
    async with services.database.write() as connection:
        await cross_pod_needs.leave_queue(connection, job_id, services.clock())
    await services.notifications.notify(OTHER_PODS)


async def answer_needs(services: Services, cluster: Cluster, row: UnsentRow) -> None:
    """Ask other pods for what a job needs, and let it back into the queue. Raises `Unavailable`: ask again later."""
    job_id = row.named_job
    async with services.database.read() as connection:
        rows = (await hand_outs.read(connection, {job_id}))[job_id]
    answers: list[CrossPodNeedRow] = []
    if rows.job.status == Status.PENDING:
        answers = await _answers(services, cluster, with_opened_variables(services.sealer, rows))
    async with services.database.write() as connection:
        await cross_pod_needs.return_to_queue(connection, job_id, answers)
        await outbox.mark_sent(connection, [row], services.clock())
    await services.notifications.tell(JOBS)


async def _answers(services: Services, cluster: Cluster, rows: HandOut) -> list[CrossPodNeedRow]:
    found = []
    seconds = int((GOOD_FOR + _GRACE).total_seconds()) + rows.job.timeout
    for position, need in needs_of(rows.job.plan, job_variables(rows, _NoRunner(), "", services.settings)):
        pod = other_pod(services, need.project) if need.project else None
        if pod is None:
            continue
        who = (rows.user.username, account_at_home(rows.user))
        request = NeedRequest(*who, rows.project.full_path, need.project, need.ref, need.job, seconds)
        try:
            needed = await ask(cluster, pod, "POST", "/needs", NEEDED, request)
        except (Invalid, Forbidden, Refused, TooLarge) as error:
            needed = Needed(fault=str(error))
        found.append(_row(services, rows.job.id, position, needed))
    return found


def _row(services: Services, job_id: int, position: int, needed: Needed) -> CrossPodNeedRow:
    """The token is a secret: it is sealed as long as it is stored."""
    sealed = services.sealer.seal(needed.token, sealed_for_need(job_id)) if needed.token else ""
    answer: dict[str, Any] = asdict(replace(needed, token=""))
    return CrossPodNeedRow(job_id, position, answer, sealed, services.clock())
