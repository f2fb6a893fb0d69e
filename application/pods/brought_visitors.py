"""People whom a move of an organisation has brought to a pod that they have never visited: their home hears of it.

It tells that pod who of them is blocked (`application.pods.visitor_states`), and believes it when it speaks for them,
as if they had got a ticket for it (docs/decisions/0037).
"""

from datetime import timedelta
from typing import Final

import structlog
from pydantic import TypeAdapter

from application.pods.cluster import Cluster
from application.pods.other_pods import known_directory
from application.pods.pod_calls import ask
from application.services import Services
from domain.errors import Forbidden, PerdureError, Unavailable
from domain.pods.directory import Pod, PodState
from models.repositories.accounts import visits
from models.rows.visits import BroughtVisitorRow

_AWAY: Final = timedelta(seconds=30)
"""So long a home that is away is left alone."""
_REFUSED: Final = timedelta(hours=1)
"""So long one that refuses is left alone: it may not have heard yet of the move that brought somebody to this pod."""
_GIVEN_UP: Final = timedelta(days=1)
"""So long after the move a home that refuses is told no more."""
_BATCH: Final = 100
_TOLD: Final = TypeAdapter(None)

log = structlog.get_logger()


async def tell_homes(services: Services, cluster: Cluster) -> None:
    """Tell the homes of visitors where moves have brought what was theirs here.

    A home that is away is asked once and then left alone for a while: others are not to wait for it.
    """
    async with services.database.read() as connection:
        found = await visits.brought_due(connection, services.clock(), _BATCH)
    away: set[int] = set()
    for one in found:
        pause = _AWAY if one.home_pod in away else await _tell_home(cluster, one)
        if pause == _AWAY:
            away.add(one.home_pod)
        await _note(services, one, pause)


async def _tell_home(cluster: Cluster, one: BroughtVisitorRow) -> timedelta | None:
    """How long to wait until the next try; None where it is told, or nobody is left to be told."""
    home = cluster.directory.by_number.get(one.home_pod) if cluster.directory is not None else None
    if home is not None and home.state is PodState.REMOVED:
        return None
    try:
        await ask(cluster, one.home_pod, "PUT", f"/visitors/{one.home_id}/pods/{one.pod_number}", _TOLD)
    except Unavailable as error:
        log.info("a home hears later where people are", pod=one.home_pod, reason=str(error))
        return _AWAY
    except PerdureError as error:
        log.warning("a home does not believe where people are", pod=one.home_pod, reason=str(error))
        return _REFUSED
    return None


async def _note(services: Services, one: BroughtVisitorRow, pause: timedelta | None) -> None:
    now = services.clock()
    is_given_up = pause == _REFUSED and now - one.moved_at > _GIVEN_UP
    async with services.database.write() as connection:
        if pause is None or is_given_up:
            await visits.is_brought(connection, one)
        else:
            await visits.bring_later(connection, one, now + pause)


async def hear_where_brought(services: Services, pod: Pod, user_id: int, pod_number: int) -> None:
    """A pod that somebody of this one visits says that what is theirs there has moved to another one.

    Raises `Forbidden` for whoever does not visit that pod: it speaks for them no more than for anybody else.
    """
    directory = known_directory(services)
    target = None if directory is None else directory.by_number.get(pod_number)
    if target is None or target.state is PodState.REMOVED or pod_number == services.settings.pod_number:
        raise Forbidden(f"Forbidden: people of pod {services.settings.pod} visit no pod {pod_number}.")
    async with services.database.write() as connection:
        visited = {one.pod_number for one in await visits.of_person(connection, user_id)}
        if pod.number not in visited:
            raise Forbidden(
                f"Forbidden: nobody of pod {services.settings.pod} with the id {user_id} visits {pod.name}."
            )
        await visits.note_brought(connection, [user_id], pod_number, services.clock())
