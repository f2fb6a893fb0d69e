"""Composition root of a server process: `python -m worker` serves the API, runs workflows, or does both.

Nothing here waits for Temporal at the start: the API serves without it, and joins as soon as it answers.
"""

import gc

gc.disable()  # while all is imported: hardly anything of it is garbage, and looking takes a quarter of the start

import asyncio
import contextlib
import signal
import sys
from collections.abc import Awaitable, Callable, Iterator
from datetime import timedelta
from functools import partial
from typing import TextIO, cast

import httpx
import structlog
import uvicorn
import uvloop
from temporalio.client import Client
from temporalio.service import RPCError

from activities.commit_reports import ReportActivities
from activities.hooks.deliveries import HookActivities
from activities.messages import MessageActivities, Ways
from activities.pipelines import PipelineActivities
from activities.resource_groups import ResourceGroupActivities
from activities.restored import begin_anew
from activities.schedules import ScheduleActivities
from activities.steps import StepActivities
from activities.temporal_client import connect
from activities.temporal_namespace import prepare_namespace
from activities.temporal_runtime import counting_runtime
from activities.temporal_worker import make_telling_worker, make_worker
from api.app import create_app
from api.exposing import tell_metrics
from api.listeners import listeners
from api.services import Services
from api.startup import close_services, open_services
from application.installation.identity import identity_given
from application.jobs.explaining import OperatorExplanations
from application.pushes.push import finish_abandoned, sweep_repositories
from domain.errors import Invalid, PerdureError, StorageFull, Unavailable
from files.process_log import LogStream, configure_lines, render_event
from loops.archiver import Archiver
from loops.artifacts import ArtifactLoop
from loops.bridges import BridgeLoop
from loops.cross_pod import CrossPodLoop
from loops.delivery_starter import Telling
from loops.directory import DirectoryLoop
from loops.environments import EnvironmentLoop
from loops.held_loop import HeldLoop
from loops.invariants import InvariantLoop
from loops.merge_requests import MergeLoop
from loops.mirrors import MirrorLoop
from loops.moved_away import MovedAwayLoop
from loops.pull_requests import PullRequestLoop
from loops.reconciler import Reconciler
from loops.relay import Relay
from loops.removals import RemovalLoop
from loops.reports import ReportLoop
from loops.retention import RetentionLoop
from loops.rounds import attempt, every
from loops.schedule_ticks import TickLoop
from loops.schedules import ScheduleKeeper
from loops.sealing import SealingLoop
from loops.spreading import Spreading
from loops.subscriptions import SubscriptionLoop
from loops.sweeper import Sweeper
from models.clock import system_clock
from models.repositories.installation import installations
from models.rows.installation import InstallationRow
from outbound.addresses import public_or_within
from outbound.mail import Mailer
from outbound.post import Poster, PostLimits
from pods.loopback import near
from settings import Settings
from workflows.handles import Pipelines
from workflows.schedules import Schedules

gc.freeze()  # else the first look goes through all of it, a tenth of the start
gc.enable()

RECONNECT = 0.5
"""Seconds between two attempts to reach Temporal."""
ANALYSED_EVERY = 86_400.0
"""Seconds between two looks at what tables have: no plan changes but with a table that has grown many times over."""

log = structlog.get_logger()


class Process:
    """One server process: its services, its loops and its web server."""

    def __init__(self, services: Services) -> None:
        """Run with these services."""
        self._services = services
        self._settings = services.settings
        self._failed: BaseException | None = None
        self._held_loop = HeldLoop()
        self._front = httpx.AsyncClient(timeout=2, trust_env=False)
        port = self._settings.temporal_client_metrics_port if self._settings.metrics_port else 0
        self._temporal_runtime = counting_runtime(port)

    async def run(self) -> int:
        """Serve until a signal or a fatal fault; the result is the exit code."""
        stop = asyncio.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, stop.set)
        tasks = [self._guarded(loop(), stop) for loop in self._loops()]
        await stop.wait()
        self._services.drain.begun = True
        self._services.polls.let_go()
        self._services.refusals.let_go()
        await self._services.notifications.stop()
        for task in reversed(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._front.aclose()
        return 1 if self._failed is not None else 0

    def _loops(self) -> list[Callable[[], Awaitable[None]]]:
        role = self._settings.api_role
        loops: list[Callable[[], Awaitable[None]]] = [self._join_temporal, self._services.metrics.watch_event_loop]
        if self._settings.metrics_port:
            loops.append(self._tell_metrics)
        if role in {"all", "worker"}:
            loops.append(self._invariants().run)
        if role in {"all", "api"}:
            loops += [self._serve, self._held_loop.run, self._sweeper().run, self._archiver().run]
            loops += [self._reports().run, self._artifacts().run, BridgeLoop(self._services).run]
            if self._services.cluster is not None:
                loops.append(DirectoryLoop(self._services, self._services.cluster).run)
                loops.append(self._moved_away().run)
            loops += [self._retention().run, self._removals().run]
            fault = "what tables have could not be counted; tomorrow is another day"
            loops.append(partial(every, ANALYSED_EVERY, self._services.database.analyse, fault, begins_at_once=True))
            loops.append(SealingLoop(self._services.database, self._services.sealer).run)
            if not self._services.mine.is_copy:
                loops += self._starting_by_itself()
        return loops

    def _starting_by_itself(self) -> Iterator[Callable[[], Awaitable[None]]]:
        """What makes pipelines, merges and calls without a person who asks for it now: a copy does none of it."""
        services = self._services
        yield self._finish_pushes
        yield self._environments().run
        for loop in (TickLoop, SubscriptionLoop, MirrorLoop, PullRequestLoop, MergeLoop, Spreading):
            yield loop(services).run
        if services.cluster is not None:
            yield CrossPodLoop(services, services.cluster).run

    def _guarded(self, work: Awaitable[None], stop: asyncio.Event) -> "asyncio.Task[None]":
        async def guarded() -> None:
            try:
                await work
            except Exception as error:
                self._failed = error
                text = str(error) if isinstance(error, PerdureError) else repr(error)
                log.error(  # noqa: TRY400  # a known error needs no trace
                    "the process cannot go on", error=text, exc_info=not isinstance(error, PerdureError)
                )
            finally:
                stop.set()

        return asyncio.create_task(guarded())

    async def _serve(self) -> None:
        config = uvicorn.Config(
            create_app(self._services),
            http="httptools",
            forwarded_allow_ips=_fronts(self._settings),
            access_log=False,
            log_config=None,
            timeout_keep_alive=75,
            timeout_graceful_shutdown=5,
        )
        server = _Server(config)
        sockets = listeners(self._settings.host, self._settings.api_port, config.backlog)
        serving = asyncio.create_task(server.serve(sockets))
        try:
            await asyncio.shield(serving)
        finally:
            server.stop()
            await serving

    async def _tell_metrics(self) -> None:
        port = self._settings.temporal_client_metrics_port if self._temporal_runtime is not None else 0
        await tell_metrics(self._services, port)

    def _sweeper(self) -> Sweeper:
        services = self._services
        return Sweeper(
            services.database,
            services.notifications,
            services.clock,
            self._settings.times,
            self._reachable,
            services.metrics,
            lambda: self._held_loop.seconds() + services.database.usage.computed_aside,
        )

    def _invariants(self) -> InvariantLoop:
        services = self._services
        return InvariantLoop(services.database, services.metrics, services.clock, self._settings.times)

    def _environments(self) -> EnvironmentLoop:
        services = self._services
        every = self._settings.times.environments_every
        return EnvironmentLoop(services.database, services.notifications, services.clock, every)

    def _reports(self) -> ReportLoop:
        services = self._services
        return ReportLoop(services.database, services.store, services.notifications)

    def _artifacts(self) -> ArtifactLoop:
        services = self._services
        return ArtifactLoop(services.database, services.store, self._settings.times.artifacts_every)

    def _retention(self) -> RetentionLoop:
        services = self._services
        return RetentionLoop(services.database, services.repositories, services.clock, self._settings.retention)

    def _removals(self) -> RemovalLoop:
        services = self._services
        return RemovalLoop(services.database, services.repositories, services.notifications, services.clock)

    def _moved_away(self) -> MovedAwayLoop:
        services = self._services
        return MovedAwayLoop(services.database, services.repositories, services.clock)

    def _archiver(self) -> Archiver:
        services = self._services
        return Archiver(services.database, services.store, services.notifications, lambda: services.queue.is_busy)

    async def _reachable(self) -> bool:
        """Whether the front reaches us."""
        if not self._settings.front_check:
            return True
        try:
            return (await self._front.get(self._settings.front_check)).status_code == httpx.codes.OK
        except httpx.HTTPError:
            return False

    async def _finish_pushes(self) -> None:
        """Pushes that a killed process left half done get their pipelines."""
        fault = "pushes that were left half done are finished later"
        await attempt(partial(sweep_repositories, self._services), fault)
        all_of_them = self._services.database.is_sqlite
        await attempt(partial(finish_abandoned, self._services, all_of_them=all_of_them), fault)
        await every(60, partial(finish_abandoned, self._services, all_of_them=False), fault)

    async def _join_temporal(self) -> None:
        """Work with Temporal for as long as it is there, and come back to it when it was away."""
        while True:
            try:
                await self._work_with_temporal()
            except Invalid:
                raise
            except (RPCError, RuntimeError, OSError, StorageFull, Unavailable) as error:
                self._services.metrics.temporal_connected.set(0)
                log.warning("work with Temporal pauses", address=self._settings.temporal, error=str(error)[:200])
                await asyncio.sleep(RECONNECT)

    async def _work_with_temporal(self) -> None:
        services, settings = self._services, self._settings
        client = await connect(settings, self._temporal_runtime)
        async with services.database.write() as connection:
            mine = await installations.ensure(connection, identity_given(settings), services.clock())
        await self._prepare_namespace(client, mine)
        pipelines = Pipelines(client, settings.queue)
        if mine.restored_at is not None:
            await begin_anew(services.database, pipelines)
        services.temporal.connected = services.holders.pipelines = pipelines
        parts: list[Awaitable[None]] = []
        if settings.api_role in {"all", "worker"}:
            metrics, window = services.metrics, timedelta(seconds=settings.times.retry_window)
            activities = PipelineActivities(services.database, services.notifications, services.clock, window, metrics)
            relay = Relay(services.database, pipelines, services.notifications, services.clock, settings, metrics)
            reconciler = Reconciler(
                services.database, pipelines, services.notifications, services.clock, settings.times, metrics
            )
            groups = ResourceGroupActivities(services.database)
            telling = Telling(services.database, pipelines, services.notifications, services.clock, settings.times)
            ticks = ScheduleActivities(services.database, services.notifications, services.clock)
            keeper = ScheduleKeeper(
                services.database,
                Schedules(client, settings.queue),
                services.notifications,
                services.clock,
                settings.times,
            )
            hooks, reports = self._hook_activities(), self._report_activities()
            steps = StepActivities(services.database, services.store)
            explain = OperatorExplanations(services.database, services.clock, settings.times).of_jobs
            worker = make_worker(client, activities, settings, groups, ticks, hooks, reports, steps, explain)
            teller = make_telling_worker(client, settings, hooks, reports, self._message_activities())
            parts = [worker.run(), relay.run(), reconciler.run(), self._keep_prepared(client, mine)]
            if not services.mine.is_copy:
                parts += [teller.run(), telling.run(), keeper.run()]
        services.metrics.temporal_connected.set(1)
        log.info("joined Temporal", address=settings.temporal, namespace=settings.namespace)
        if not parts:
            await asyncio.Event().wait()
        await _first_to_end(parts)

    def _poster(self) -> Poster:
        limits = PostLimits(total=self._settings.times.hook_timeout)
        return Poster(limits, permitted=public_or_within(self._settings.outbound_networks))

    def _hook_activities(self) -> HookActivities:
        services = self._services
        return HookActivities(
            services.database,
            services.notifications,
            self._poster(),
            services.sealer,
            services.clock,
            services.settings,
        )

    def _message_activities(self) -> MessageActivities:
        services, smtp = self._services, self._settings.smtp
        ways = Ways(self._poster(), Mailer(smtp) if smtp.is_given else None)
        return MessageActivities(
            services.database, services.notifications, ways, services.sealer, services.clock, services.settings
        )

    def _report_activities(self) -> ReportActivities:
        services = self._services
        return ReportActivities(services.database, self._poster(), services.sealer, services.clock, services.settings)

    async def _prepare_namespace(self, client: Client, mine: InstallationRow) -> None:
        await prepare_namespace(
            client,
            mine.installation_id,
            self._settings.temporal_retention,
            restored_from=mine.restored_from,
            is_copy=mine.is_copy,
        )

    async def _keep_prepared(self, client: Client, mine: InstallationRow) -> None:
        """A server that comes back empty knows no search attributes, and would refuse every start of a workflow."""
        while True:
            await asyncio.sleep(self._settings.times.reconcile_every / 2)
            with contextlib.suppress(RPCError):  # away: the next round tries again
                await self._prepare_namespace(client, mine)


async def _first_to_end(parts: list[Awaitable[None]]) -> None:
    """Run all; when one ends, end the others and raise its error."""
    tasks = [asyncio.ensure_future(part) for part in parts]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _fronts(settings: Settings) -> str:
    """Whose word on where a call comes from is believed: those that are named, else whoever is on this machine."""
    if settings.trusted_proxies != Settings.model_fields["trusted_proxies"].default:
        return settings.trusted_proxies
    return f"{settings.trusted_proxies},{near(settings)}"


class _Server(uvicorn.Server):
    """A web server that leaves signals to us, and that wakes up once a second, not ten times, when nothing happens."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self._stopping = asyncio.Event()

    def stop(self) -> None:
        """Let `serve` end."""
        self.should_exit = True
        self._stopping.set()

    async def main_loop(self) -> None:
        """Serve until `stop`; the date that answers carry is written anew each second."""
        while not await self.on_tick(0):
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), 1)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Signals belong to the whole process."""
        yield


def configure_logging(settings: Settings) -> None:
    """Lines for people, or JSON for machines."""
    configure_lines("WARNING")  # of libraries
    renderer = structlog.processors.JSONRenderer() if settings.log_json else render_event
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso"),
            structlog.processors.format_exc_info,
            renderer,
        ],
        logger_factory=structlog.PrintLoggerFactory(file=cast("TextIO", LogStream(sys.stderr))),
        wrapper_class=structlog.make_filtering_bound_logger(settings.log_level),
    )


def _settle_memory() -> None:
    """What was made at the start stays: the cyclic collector need not look at it again and again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)


async def serve(settings: Settings, process: type[Process] = Process) -> int:
    """Run one server process to its end; `process` may be one that does more."""
    services = await open_services(settings, system_clock)
    _settle_memory()
    try:
        return await process(services).run()
    finally:
        await close_services(services)


def main(process: type[Process] = Process) -> None:
    """Entry point of `perdure-worker` and `python -m worker`."""
    settings = Settings()
    configure_logging(settings)
    try:
        code = uvloop.run(serve(settings, process))
    except PerdureError as error:
        sys.stderr.write(f"perdure-worker: {error}\n")
        code = 1
    raise SystemExit(code)


if __name__ == "__main__":
    main()
