"""Whether people are blocked at home: what visited pods are told of it, and what becomes of visitors here."""

from datetime import timedelta
from typing import Final

import structlog
from pydantic import TypeAdapter

from application.audit import record
from application.pods.cluster import Cluster
from application.pods.pod_calls import ask
from application.services import Services
from auth.permissions import Caller
from domain.errors import PerdureError
from domain.pods.directory import Pod
from domain.pods.visits import VisitorState, state_by_home
from models.repositories.accounts import accounts, sessions, visits
from models.repositories.accounts.visits import UntoldVisit
from models.repositories.installation.audit import Entity, Happened

_AGAIN: Final = timedelta(hours=1)
"""So often pods hear again that somebody is blocked."""
_LATER: Final = timedelta(seconds=30)
"""So long a pod that could not be told is left alone."""
_BATCH: Final = 100
_TOLD: Final = TypeAdapter(None)

log = structlog.get_logger()


async def tell_visited_pods(services: Services, cluster: Cluster) -> None:
    """Tell the pods that people of this one have visited who of them is blocked, or is not any more.

    A pod that is away is asked once and then left alone for a while: others are not to wait for it.
    """
    async with services.database.read() as connection:
        found = await visits.untold(connection, services.clock(), _BATCH)
    away: set[int] = set()
    for one in found:
        if one.pod_number not in away:
            try:
                await _tell(services, cluster, one)
                continue
            except PerdureError as error:
                log.info("a pod hears later who is blocked", pod=one.pod_number, reason=str(error))
                away.add(one.pod_number)
        async with services.database.write() as connection:
            await visits.tell_later(connection, one, services.clock() + _LATER)


async def _tell(services: Services, cluster: Cluster, one: UntoldVisit) -> None:
    """A block counts as told before it is: whoever has heard of it without a response is to hear of its end, too."""
    state = VisitorState(is_blocked=one.state != accounts.ACTIVE)
    if state.is_blocked:
        async with services.database.write() as connection:
            if not await visits.note_told(connection, one, services.clock() + _LATER, is_blocked=True):
                return
    await ask(cluster, one.pod_number, "PUT", f"/visitors/{one.user_id}", _TOLD, state)
    again = services.clock() + _AGAIN if state.is_blocked else None
    async with services.database.write() as connection:
        await visits.note_told(connection, one, again, is_blocked=state.is_blocked)


async def hear_of_visitor(services: Services, pod: Pod, home_id: int, state: VisitorState) -> None:
    """Another pod says whether the person with this account there is blocked.

    Then their tokens, keys and schedules here are worth nothing, and their sessions end, until it says otherwise.
    """
    async with services.database.write() as connection:
        row = await visits.by_home(connection, pod.number, home_id)
        becomes = "" if row is None else state_by_home(row.state, is_blocked=state.is_blocked)
        if row is None or row.state == becomes:
            return
        await accounts.change(connection, row.id, state=becomes)
        await sessions.end_all(connection, row.id)
        happened = Happened("user_blocked" if state.is_blocked else "user_unblocked", {"home_pod": pod.number})
        caller, entity = Caller(row.id, row.username), Entity("user", row.id, row.username)
        await record(connection, caller, entity, happened, services.clock())
