"""The activity of attempts that begin at a step: SQL and the store behind `workflows.ports.StepPort`."""

from temporalio import activity

from domain.errors import NotFound, Refused
from domain.messages import PinSteps, StepsPinned
from domain.steps.beginning import begin_at
from models.repositories.pipelines import pinned_steps
from models.session import Database
from storage.objects import ObjectStore
from storage.step_results import results_of
from workflows.ports import StepPort


class StepActivities(StepPort):
    """Reads the results of steps, and keeps what a new attempt needs of them."""

    def __init__(self, database: Database, store: ObjectStore) -> None:
        """Take what the composition root made."""
        self._database = database
        self._store = store

    @activity.defn(name="pin the steps before")
    async def pin_steps(self, order: PinSteps) -> StepsPinned:
        """Keep what the command needs until it is answered. Raises `Unavailable` while the store is away."""
        try:
            async with self._database.read() as connection:
                attempt = await pinned_steps.retried(connection, order.pipeline_id, order.job_id)
            beginning = begin_at(attempt.run, await results_of(self._store, attempt), order.from_step)
        except (NotFound, Refused) as error:
            return StepsPinned(str(error))
        if beginning.done:
            async with self._database.write() as connection:
                await pinned_steps.put(connection, order.pipeline_id, order.key, beginning)
        return StepsPinned()
