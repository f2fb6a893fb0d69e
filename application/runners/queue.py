"""The queue by tag sets, as somebody may see it."""

from collections.abc import Mapping, Sequence

from sqlalchemy.ext.asyncio import AsyncConnection

from application.services import Services
from auth.permissions import DEVELOPER, Caller
from domain.runners.tag_set_queues import Lately, TagSetQueue, tag_set_queues
from models.repositories.accounts import members
from models.repositories.queue import recent_waits, tag_sets, waiting_jobs


async def queue_for(services: Services, caller: Caller) -> list[TagSetQueue]:
    """What waits, or was taken in the last hour, by tag set; what has waited longest first.

    Administrators see all of it, others the tag sets of projects whose jobs they may run.
    """
    now = services.clock()
    async with services.database.read() as connection:
        waiting = await tag_sets.waiting_by_demand(connection)
        waits = await recent_waits.of_all(connection, now)
        found = await _lately(connection, waiting, waits)
        runners = await waiting_jobs.named_runners(connection, now, services.settings.times.runner_online)
        own = None if caller.is_admin else await members.projects_with(connection, caller.user_id, DEVELOPER)
    return tag_set_queues(found, runners, own)


async def _lately(
    connection: AsyncConnection, waiting: Mapping[int, tuple[int, float]], waits: Mapping[int, Sequence[float]]
) -> list[Lately]:
    known = await tag_sets.read(connection, waiting.keys() | waits.keys())
    return [Lately(one, *waiting.get(key, (0, 0.0)), waits.get(key, ())) for key, one in known.items()]
