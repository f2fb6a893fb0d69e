"""What runs in a pod without API: relay, reconciler and worker, each of which a test can end and start again."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import datetime, timedelta

from temporalio.worker import Worker

from activities.pipelines import PipelineActivities
from activities.resource_groups import ResourceGroupActivities
from activities.schedules import ScheduleActivities
from activities.steps import StepActivities
from activities.temporal_client import connect
from activities.temporal_namespace import prepare_namespace
from activities.temporal_worker import make_worker
from application.jobs.explaining import OperatorExplanations
from loops.reconciler import Reconciler
from loops.relay import Relay
from models.clock import system_clock
from models.notifications import Notifications
from settings import Settings
from storage.objects import ObjectStore
from tests import invariants
from tests.models.world import World
from tests.waiting import eventually
from workflows.handles import Pipelines


class RealTime(World):
    """A world on the clock of the machine."""

    def now(self) -> datetime:
        """The present."""
        return system_clock()


class PodParts:
    """A client of Temporal, a worker, a relay and a reconciler; worker and relay run."""

    def __init__(self, world: RealTime, settings: Settings, notifications: Notifications | None = None) -> None:
        """Take what others made; nothing runs before `working`."""
        self.world = world
        self.settings = settings
        self.notifications = notifications or Notifications()
        self.store = ObjectStore.open(settings.store)
        self._worker: tuple[Worker, asyncio.Task[None]] | None = None
        self._sending: asyncio.Task[None] | None = None

    async def join(self, namespace: str = "default") -> None:
        """Work with this namespace from now on; nothing runs yet."""
        self.client = await connect(self.settings.model_copy(update={"temporal_namespace": namespace}))
        await prepare_namespace(self.client, "tests")
        self.pipelines = Pipelines(self.client, self.settings.queue)
        shared = (self.world.database, self.pipelines, self.notifications, system_clock)
        self.relay = Relay(*shared, self.settings)
        self.reconciler = Reconciler(*shared, self.settings.times)

    async def start(self) -> None:
        """Run worker and relay."""
        await self.start_worker()
        self.start_relay()

    def worker_of(self, queue: str) -> Worker:
        """A worker of the product for this queue; it does not run yet."""
        window = timedelta(seconds=self.settings.times.retry_window)
        activities = PipelineActivities(self.world.database, self.notifications, system_clock, window)
        groups = ResourceGroupActivities(self.world.database)
        ticks = ScheduleActivities(self.world.database, self.notifications, system_clock)
        settings = self.settings.model_copy(update={"task_queue": queue})
        steps = StepActivities(self.world.database, self.store)
        explain = OperatorExplanations(self.world.database, system_clock, self.settings.times).of_jobs
        return make_worker(self.client, activities, settings, groups, ticks, steps=steps, explain=explain)

    async def start_worker(self) -> None:
        """Run a new worker."""
        worker = self.worker_of(self.settings.queue)
        self._worker = worker, asyncio.create_task(worker.run())

        async def runs() -> bool:
            return worker.is_running

        await eventually(runs, "the worker runs")

    async def stop_worker(self) -> None:
        """End the worker, if there is one."""
        if self._worker is not None:
            worker, task = self._worker
            self._worker = None
            await worker.shutdown()
            await task

    def detach_worker(self) -> Worker:
        """Leave the worker running beside the next one; whoever calls this ends it."""
        assert self._worker is not None
        worker, _ = self._worker
        self._worker = None
        return worker

    def start_relay(self) -> None:
        """Send outbox rows."""
        self._sending = asyncio.create_task(self.relay.run())

    async def stop_relay(self) -> None:
        """Send no more outbox rows."""
        if self._sending is not None:
            self._sending.cancel()
            with suppress(asyncio.CancelledError):
                await self._sending
            self._sending = None

    async def invariants_hold(self) -> None:
        """What SQL and Temporal say together, once what is on its way has arrived; nothing if nobody works here."""
        if self._worker is not None and self._sending is not None:
            await invariants.hold(self.world.database, self.pipelines.runs)

    @asynccontextmanager
    async def working(self, namespace: str = "default") -> AsyncIterator[None]:
        """Join a namespace, and run until the end."""
        await self.join(namespace)
        await self.start()
        try:
            yield
        finally:
            await self.close()

    async def close(self) -> None:
        """End what runs."""
        await self.stop_relay()
        await self.stop_worker()
