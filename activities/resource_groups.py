"""The activity of resource groups: SQL behind `workflows.ports.GroupPort`."""

from temporalio import activity

from domain.messages import ChooseNext, Chosen
from domain.pipelines.resource_groups import choose, reachable
from models.repositories.pipelines import resource_groups
from models.session import Database
from workflows.ports import GroupPort


class ResourceGroupActivities(GroupPort):
    """Reads resource groups in SQL."""

    def __init__(self, database: Database) -> None:
        """Take what the composition root made."""
        self._database = database

    @activity.defn(name="choose_next")
    async def choose_next(self, order: ChooseNext) -> Chosen:
        """Choose among the jobs that wait now. A group that is gone has none."""
        async with self._database.read() as connection:
            seen = await resource_groups.situation(connection, order.group_id)
        if seen is None:
            return Chosen(waiting=False)
        waiting = any(candidate.is_ready for candidate in seen.candidates)
        turn = choose(seen.mode, seen.is_free, reachable(seen.candidates, order.unreachable))
        return Chosen(waiting) if turn is None else Chosen(waiting, turn.pipeline_id, turn.job_id)
