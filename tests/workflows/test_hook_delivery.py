"""Webhooks and reports on a real Temporal server: through outages of it, of workers and of receivers."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from temporalio.service import RPCError

from activities.commit_reports import ReportActivities
from activities.hooks.deliveries import HookActivities
from activities.pipelines import PipelineActivities
from activities.resource_groups import ResourceGroupActivities
from activities.schedules import ScheduleActivities
from activities.temporal_worker import make_telling_worker, make_worker
from auth.encryption import open_sealer
from domain.hooks.webhooks import Event, bits_of
from domain.messages import DeliverHook
from domain.pipelines.status import Status
from domain.sealed_for import FORGE
from loops import delivery_starter
from loops.delivery_starter import Telling
from models.clock import system_clock
from models.columns import table_of
from models.notifications import HOOKS, Notifications
from models.repositories.hooks import forge_links, hooks
from models.repositories.owner import Owner
from models.repositories.pipelines import pipelines
from models.repositories.pipelines.pipelines import PipelineRequest
from models.tables.hooks import CommitReport, HookDelivery
from settings import Settings, TimeLimits
from tests.activities.receiver import Receiver, local_poster, receiving
from tests.models.world import World
from tests.temporal import new_namespace
from tests.waiting import eventually
from tests.workflows.pod import Pod
from workflows.handles import telling_queue
from workflows.hook_delivery import HookDeliveryWorkflow, delivery_workflow_id

deliveries = table_of(HookDelivery)
reports = table_of(CommitReport)
QUICK = TimeLimits(hook_retry_first=0.1, hook_retry_longest=0.2)


class Teller:
    """What tells hooks and forges of a pod: the loop, and a worker that carries it out."""

    def __init__(self, pod: Pod, folder: Path) -> None:
        self.pod = pod
        self.sealer = open_sealer(Settings(home=folder))
        self.notifications = Notifications()

    @asynccontextmanager
    async def working(self) -> AsyncIterator[None]:
        """Run the worker and the loop."""
        async with self.worker(), self.loop():
            yield

    @asynccontextmanager
    async def worker(self) -> AsyncIterator[None]:
        """Run the worker alone."""
        world, settings = self.pod.world, self.pod.settings.model_copy(update={"times": QUICK})
        poster = local_poster()
        hooking = HookActivities(world.database, self.notifications, poster, self.sealer, system_clock, settings)
        reporting = ReportActivities(world.database, poster, self.sealer, system_clock, settings)
        playing = PipelineActivities(world.database, self.pod.notifications, system_clock)
        groups = ResourceGroupActivities(world.database)
        ticks = ScheduleActivities(self.pod.world.database, self.pod.notifications, system_clock)
        client = self.pod.client
        async with (
            make_worker(client, playing, settings, groups, ticks, hooking, reporting),
            make_telling_worker(client, settings, hooking, reporting),
        ):
            yield

    @asynccontextmanager
    async def loop(self) -> AsyncIterator[None]:
        """Run the loop alone."""
        world = self.pod.world
        task = asyncio.create_task(
            Telling(world.database, self.pod.pipelines, self.notifications, system_clock, QUICK).run()
        )
        try:
            yield
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    async def hook(self, receiver: Receiver, *wanted: Event) -> None:
        """A hook of the pod's project."""
        world = self.pod.world
        async with world.database.write() as connection:
            await hooks.add(
                connection, Owner(world.project_id), system_clock(), url=receiver.url, events=bits_of(wanted)
            )

    async def link(self, receiver: Receiver) -> None:
        """A link of the pod's project to a forge."""
        world = self.pod.world
        async with world.database.write() as connection:
            await forge_links.put(
                connection,
                world.project_id,
                "gitlab",
                system_clock(),
                repository_url="x",
                api_url=receiver.url,
                repository="a/b",
                token=self.sealer.seal("t", FORGE),
            )

    async def all_started(self) -> bool:
        """Has each delivery its workflow? The loop starts them side by side, in no order."""
        for row in await self.pod.world.rows(deliveries):
            try:
                await self.pod.client.get_workflow_handle(delivery_workflow_id(row.id)).describe()
            except RPCError:
                return False
        return True

    async def settled(self, number: int) -> None:
        """Wait until so many deliveries have ended well."""

        async def done() -> bool:
            rows = await self.pod.world.rows(deliveries)
            return len(rows) == number and {row.state for row in rows} == {"delivered"}

        await eventually(done, f"{number} deliveries have ended")

    async def told(self) -> Any:
        """Wait until the forge knows the newest; the report."""

        async def done() -> Any:
            (row,) = await self.pod.world.rows(reports)
            return row if row.state == "done" else None

        return await eventually(done, "the forge is told")


@pytest.fixture
async def teller(pod: Pod, tmp_path: Path) -> Teller:
    """The teller of a pod whose own worker does not know of hooks, and is stopped."""
    await pod.stop_worker()
    return Teller(pod, tmp_path)


async def begun(world: World) -> int:
    """A pipeline with one pending job, as if a workflow had decided."""
    pipeline_id = await world.create("one: {script: x}")
    await world.settle(pipeline_id)
    return pipeline_id


async def test_a_whole_pipeline_is_told_to_a_hook_and_to_a_forge(teller: Teller) -> None:
    async with receiving(201) as receiver, receiving(201) as forge, teller.working():
        await teller.hook(receiver, Event.PIPELINE)
        await teller.link(forge)
        pipeline_id = await teller.pod.create("one: {script: x}")
        await teller.pod.run("one")
        assert await teller.pod.ended(pipeline_id) == "success"
        await teller.settled(4)
        await teller.told()
    told = {one.body["object_attributes"]["status"] for one in receiver.got}
    assert told == {"created", "pending", "running", "success"}
    assert forge.got[-1].body["state"] == "success"
    order = ["pending", "running", "success"]
    seen = [order.index(one.body["state"]) for one in forge.got]
    assert seen == sorted(set(seen)), "each state once at most, never backwards"


async def test_a_receiver_that_fails_twice_hears_of_it_the_third_time(teller: Teller) -> None:
    async with receiving(500, 502, 200) as receiver, teller.working():
        world = teller.pod.world
        await teller.hook(receiver, Event.PIPELINE)
        request = PipelineRequest(world.project_id, world.user_id, "main", "c0ffee", "push")
        async with world.database.write() as connection:
            await pipelines.create_ended(connection, request, Status.SKIPPED, system_clock(), seal=str)
        await teller.settled(1)
    assert [one.body["object_attributes"]["status"] for one in receiver.got] == ["skipped"] * 3
    (row,) = await teller.pod.world.rows(deliveries)
    assert [one["status"] for one in row.tries] == [500, 502, 200]


async def test_nothing_is_lost_while_nobody_works(teller: Teller) -> None:
    """First nobody starts anything, then nobody carries it out."""
    async with receiving() as receiver:
        await teller.hook(receiver, Event.PIPELINE)
        await begun(teller.pod.world)
        async with teller.loop():
            await eventually(teller.all_started, "Temporal has both deliveries")
        assert receiver.got == []
        async with teller.worker():
            await teller.settled(2)


async def test_a_temporal_that_comes_back_empty_is_told_again(teller: Teller, monkeypatch: pytest.MonkeyPatch) -> None:
    async with receiving() as receiver:
        await teller.hook(receiver, Event.PIPELINE)
        await begun(teller.pod.world)
        monkeypatch.setattr(delivery_starter, "TAKEN", timedelta(seconds=0.5))
        async with teller.loop():

            async def taken() -> bool:
                rows = await teller.pod.world.rows(deliveries)
                return all(row.due_at > row.created_at + timedelta(seconds=0.4) for row in rows)

            await eventually(taken, "Temporal took them")
        await teller.pod.join(await new_namespace(teller.pod.settings.temporal))
        async with teller.working():
            await teller.settled(2)
    assert len(receiver.got) == 2


async def test_a_delivery_that_an_older_version_has_started_is_carried_out(teller: Teller) -> None:
    """It is on the queue of pipelines, which was that of deliveries too."""
    async with receiving() as receiver:
        await teller.hook(receiver, Event.PIPELINE)
        await begun(teller.pod.world)
        for row in await teller.pod.world.rows(deliveries):
            await teller.pod.client.start_workflow(
                HookDeliveryWorkflow.run,
                DeliverHook(row.id),
                id=delivery_workflow_id(row.id),
                task_queue=teller.pod.settings.queue,
            )
        async with teller.worker():
            await teller.settled(2)


async def test_deliveries_have_a_queue_of_their_own(teller: Teller) -> None:
    async with receiving() as receiver, teller.working():
        await teller.hook(receiver, Event.PIPELINE)
        await begun(teller.pod.world)
        await teller.notifications.notify(HOOKS)
        await teller.settled(2)
        for row in await teller.pod.world.rows(deliveries):
            found = await teller.pod.client.get_workflow_handle(delivery_workflow_id(row.id)).describe()
            assert found.task_queue == telling_queue(teller.pod.settings.queue) != teller.pod.settings.queue


async def test_the_loop_hears_of_a_notification(teller: Teller, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delivery_starter, "IDLE", 3600.0)
    async with receiving() as receiver, teller.working():
        await teller.hook(receiver, Event.PIPELINE)
        await begun(teller.pod.world)
        await teller.notifications.notify(HOOKS)
        await teller.settled(2)
