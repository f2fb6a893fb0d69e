"""What an organisation would miss in the pod that it moves to, from the databases of both."""

from application.moves.pod_place import PodPlace
from application.pods.tag_sets import used_in
from domain.pods.tag_sets import Unserved, needed_elsewhere, offered_to_all, unserved
from models.repositories import database_time
from models.repositories.namespaces import namespaces
from models.repositories.runners import runner_counts


async def missing(source: PodPlace, target: PodPlace, path: str, days: int) -> list[Unserved]:
    """The tag sets that it used in so many days and that no runner there takes; nothing once its rows are packed."""
    async with source.database.read() as connection:
        group = await namespaces.find_top(connection, path)
    if group is None:
        return []
    used = await used_in(source.database, source.runner_online, group, days)
    async with target.database.read() as connection:
        now = await database_time.moment(connection)
        served = await runner_counts.tag_sets(connection, now, target.runner_online)
    return unserved(needed_elsewhere(used), offered_to_all(served))
