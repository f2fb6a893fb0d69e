"""The runner process: asks for jobs, runs up to `concurrent` of them, ends as told.

Source: docs/reference/runner.md, "Main loop".
"""

import asyncio
import logging
import signal
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from fleet.client import RunnerClient
from fleet.config import FleetConfig, RunnerEntry, system_id
from fleet.executors.files import make_place
from fleet.executors.hands import Hands
from fleet.executors.rights import JobRights
from fleet.executors.workspace import Slot
from fleet.features import runner_info
from fleet.job import Job, read_job
from fleet.job_run import JobRun, RunLimits
from fleet.poller import Poller, Slots
from fleet.recovery import deliver_record, end_left
from fleet.state import JobRecord, JobStore
from fleet.stop import Cause

PATIENCE = 5.0
"""Seconds after which one of several entries, whose server is away, leaves its slot to the others."""

LOG = logging.getLogger(__name__)


class RunnerProcess:
    """All `[[runners]]` of one configuration in one process."""

    def __init__(
        self, config: FleetConfig, folder: Path, limits: RunLimits | None = None, rights: JobRights | None = None
    ) -> None:
        """`folder` is where config.toml lies; jobs have `rights`, None for our own. `limits` are for tests."""
        delivery = replace(RunLimits().delivery, deliver_for=config.deliver_for)
        self._config, self._folder, self._rights = config, folder, rights
        self._limits = limits or RunLimits(delivery=delivery)
        self._store = JobStore(config.state_dir)
        self._slots = Slots(config.concurrent)
        self._runs: dict[asyncio.Task[None], JobRun] = {}
        self._recoveries: set[asyncio.Task[None]] = set()
        self._pollers: list[asyncio.Task[None]] = []
        self._going_on: list[tuple[RunnerEntry, asyncio.Task[None]]] = []
        self._ending = False
        self._abort = asyncio.Event()

    async def run(self) -> None:
        """Run until told to end; raises Refused when another process has the state folder."""
        self._store.lock()
        clients = [self._client(entry) for entry in self._config.runners]
        try:
            await self._make_places()
            records = self._store.load()
            over = [record for record in records if not self._resume(record, clients)]
            await end_left(over, self._limits.stages.grace, self._rights)
            for record in over:
                self._recover(record, clients)
            if not self._ending:
                pairs = zip(self._config.runners, clients, strict=True)
                self._pollers = [asyncio.create_task(self._poller(*pair).run()) for pair in pairs]
            await self._until_ended()
        finally:
            for client in clients:
                await client.close()
            self._store.unlock()

    def finish(self) -> None:
        """Ask for no more jobs and end when the running ones have ended (SIGQUIT)."""
        LOG.warning("no more jobs are taken; %d are still running", len(self._runs))
        self._ending = True
        for poller in self._pollers:
            poller.cancel()

    def abort(self) -> None:
        """Abort the running jobs and end within `shutdown_timeout` (SIGTERM, SIGINT); a second call ends at once."""
        if self._abort.is_set():
            self._cancel_all()
        self.finish()
        self._abort.set()
        for run in self._runs.values():
            run.stop.order(Cause.INTERRUPTED)

    def heed_signals(self) -> None:
        """Connect SIGQUIT, SIGTERM and SIGINT; needs the running event loop."""
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGQUIT, self.finish)
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self.abort)

    async def _until_ended(self) -> None:
        if self._pollers:
            # A poller only ends by cancellation or by a fault; the latter must not leave half a runner alive.
            await asyncio.wait(self._pollers, return_when=asyncio.FIRST_EXCEPTION)
            self.finish()
        aborted = asyncio.create_task(self._abort.wait())
        try:
            while (open_tasks := {*self._runs, *self._recoveries}) and not self._abort.is_set():
                await asyncio.wait({*open_tasks, aborted}, return_when=asyncio.FIRST_COMPLETED)
            if open_tasks:
                await asyncio.wait(open_tasks, timeout=self._config.shutdown_timeout)
        finally:
            aborted.cancel()
            self._cancel_all()
            await asyncio.gather(*self._runs, *self._recoveries, aborted, return_exceptions=True)
        for poller in self._pollers:
            if not poller.cancelled() and (fault := poller.exception()):
                raise fault

    async def _make_places(self) -> None:
        """Make the folders of jobs where these have rights of their own, with which one must be able to reach them."""
        if self._rights is None:
            return
        hands = Hands(self._rights)
        try:
            for entry in self._config.runners:
                await hands.do(make_place, entry.builds_dir, self._rights.name)
        finally:
            hands.close()

    def _cancel_all(self) -> None:
        for task in (*self._runs, *self._recoveries):
            task.cancel()

    def _poller(self, entry: RunnerEntry, client: RunnerClient) -> Poller:
        return Poller(
            entry,
            client,
            self._slots,
            self._start,
            check_interval=self._config.check_interval,
            patience=PATIENCE if len(self._config.runners) > 1 else None,
            has_room=self._store.has_room,
            going_on=[task for known, task in self._going_on if known is entry],
        )

    def _start(
        self, entry: RunnerEntry, client: RunnerClient, payload: Mapping[str, Any], slot: int
    ) -> asyncio.Task[None]:
        return self._run_job(entry, client, read_job(payload), slot)

    def _run_job(
        self, entry: RunnerEntry, client: RunnerClient, job: Job, slot: int, record: JobRecord | None = None
    ) -> asyncio.Task[None]:
        place = Slot(
            entry.builds_dir,
            entry.short_token,
            slot,
            entry.environment,
            self._rights,
            entry.steps,
            entry.authority(),
        )
        limits = replace(self._limits, output=entry.output_limit, unsupported=self._config.unsupported_keywords)
        job_run = JobRun(job, place, client, self._store, limits, record)
        task = asyncio.create_task(job_run.run())
        self._runs[task] = job_run

        def ended(task: asyncio.Task[None]) -> None:
            self._runs.pop(task, None)
            self._slots.give_back(slot)
            if not task.cancelled() and (fault := task.exception()):
                LOG.error("job %d broke off; its state is kept for the next start", job.id, exc_info=fault)

        task.add_done_callback(ended)
        LOG.info("job %d (%s) %s in slot %d", job.id, job.name, "goes on" if record else "starts", slot)
        return task

    def _resume(self, record: JobRecord, clients: list[RunnerClient]) -> bool:
        """Go on with a job whose steps have gone on; False for one with which that cannot be done."""
        if not record.goes_on or record.steps is None:
            return False
        for entry, client in zip(self._config.runners, clients, strict=True):
            if (entry.url, entry.short_token) == (record.url, record.steps.short_token):
                self._slots.hold(record.steps.slot)
                task = self._run_job(entry, client, read_job(record.steps.document), record.steps.slot, record)
                self._going_on.append((entry, task))
                return True
        return False

    def _recover(self, record: JobRecord, clients: list[RunnerClient]) -> None:
        client = next((c for c in clients if c.url == record.url), None)
        if client is None:
            LOG.error(
                "job %d of %s: no [[runners]] with this URL is left; its state is kept", record.job_id, record.url
            )
            return
        task = asyncio.create_task(deliver_record(record, client, self._store, self._limits.delivery))
        self._recoveries.add(task)
        task.add_done_callback(self._recovered)

    def _recovered(self, task: asyncio.Task[None]) -> None:
        self._recoveries.discard(task)
        if not task.cancelled() and (error := task.exception()):
            LOG.error("a result of an earlier run could not be delivered: %s", error)

    def _client(self, entry: RunnerEntry) -> RunnerClient:
        return RunnerClient(
            entry.url,
            entry.token,
            system_id=system_id(self._folder),
            info=runner_info(entry.executor),
            backoff=self._config.backoff,
            tls_ca_file=entry.tls_ca_file,
        )
