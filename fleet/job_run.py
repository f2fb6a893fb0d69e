"""One job from its acceptance to its confirmed result."""

import asyncio
import logging
import os
import time
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from uuid import uuid4

from domain.errors import PerdureError, StorageFull
from domain.masked_stream import Masker
from domain.masking import TOKEN_PREFIXES
from fleet.artifacts import Artifacts
from fleet.client import JobKey, RunnerClient
from fleet.config import RUN
from fleet.delivery import Delivery, DeliveryTimes
from fleet.executors.hands import Hands
from fleet.executors.process import Group
from fleet.executors.shell import ShellExecutor
from fleet.executors.workspace import Slot, Workspace, make_workspace
from fleet.job import Job
from fleet.job_steps.local_service import LocalService
from fleet.job_steps.remote_place import RemotePlace
from fleet.job_steps.stage import StepsStage, steps_folder
from fleet.job_steps.steps_run import StepPlace
from fleet.reply import Answer, JobReply
from fleet.stages import Stages, StageTimes
from fleet.state import JobRecord, JobStore, RunningSteps, finished
from fleet.stop import Cause, Stop
from fleet.trace import DEFAULT_LIMIT, Trace
from fleet.unsupported import accepts
from fleet.verdict import Verdict, failed

LIVE_CALL_GRACE = 5.0
"""Seconds the last live call gets before it is dropped; the final flush finds out what the server has."""

LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RunLimits:
    """Times of a job's run, how many bytes of script output its log keeps, and what it may ask for.

    `unsupported` says what becomes of a job that asks for what this runner does not do (`fleet.config.WAYS`).
    """

    delivery: DeliveryTimes = field(default_factory=DeliveryTimes)
    stages: StageTimes = field(default_factory=StageTimes)
    output: int = DEFAULT_LIMIT
    unsupported: str = RUN


class JobRun:
    """Runs one job. `stop` may be ordered at any time; the job's processes are gone when `run` returns."""

    def __init__(
        self,
        job: Job,
        slot: Slot,
        client: RunnerClient,
        store: JobStore,
        limits: RunLimits,
        record: JobRecord | None = None,
    ) -> None:
        """Nothing happens before `run`. `record` is of a runner that was killed, and whose job goes on."""
        self._job, self._slot, self._client, self._store, self._limits = job, slot, client, store, limits
        self._key = JobKey(job.id, job.token)
        self.stop = Stop()
        self._is_resumed = record is not None
        self._record = record or JobRecord(
            job_id=job.id,
            token=job.token,
            url=client.url,
            log=str(store.log_file(job.id, client.url, job.token)),
            mark=uuid4().hex,
        )

    async def run(self) -> None:
        """Accept, execute, deliver. A job that the server takes back before it starts leaves nothing behind."""
        if not self._is_resumed:
            reply = await self._client.update_job(self._key, "running")
            if reply.answer is Answer.ABORT:
                LOG.info("job %d was taken back before it started", self._job.id)
                return
            self._heed(reply)
        try:
            if not self._is_resumed:
                await asyncio.to_thread(self._store.save, self._record)
            workspace, problem = self._make_workspace()
            trace = self._open_trace(Path(self._record.log), workspace)
        except OSError as error:
            await self._give_back(error)
            return
        try:
            await self._execute_and_deliver(workspace, problem, trace)
        finally:
            trace.close()

    async def _give_back(self, error: OSError) -> None:
        """Fail a job for whose record or log the disk has no room: nobody else tells the server that it does not run.

        Its log is in memory.
        """
        LOG.error("job %d is not run: %s; make room on the runner's disk", self._job.id, error)
        kept = os.memfd_create("log")
        trace = self._open_trace(Path("/proc/self/fd", str(kept)), None)
        try:
            trace.error(f"Job failed (system failure): the runner cannot keep it: {error.strerror}")
            verdict = failed("runner_system_failure").reported(self._job.features.failure_reasons)
            delivery = Delivery(self._client, self._key, trace, on_reply=self._heed, times=self._limits.delivery)
            await delivery.finish(verdict)
        finally:
            trace.close()
            os.close(kept)
        self._store.remove(self._record)

    async def _execute_and_deliver(self, workspace: Workspace | None, problem: str, trace: Trace) -> None:
        delivery = Delivery(
            self._client,
            self._key,
            trace,
            on_reply=self._heed,
            times=self._limits.delivery,
            debug=workspace is not None and workspace.debug,
        )
        live = asyncio.create_task(delivery.run())
        try:
            if workspace is None:
                with suppress(StorageFull):
                    trace.error(f"Job failed: {problem}")
                verdict = failed("runner_system_failure")
            else:
                verdict = await self._stages(workspace, trace).run()
            verdict = verdict.reported(self._job.features.failure_reasons)
            # Recorded before it is sent: whatever happens from here on, the next start delivers it.
            await self._record_verdict(verdict)
        finally:
            delivery.end()
            await asyncio.wait({live}, timeout=LIVE_CALL_GRACE)
            live.cancel()
            await asyncio.wait({live})
        await self._deliver(delivery, verdict, trace)

    async def _record_verdict(self, verdict: Verdict) -> None:
        """Without room it is delivered all the same; if this process ends before, the next one reports a failure."""
        try:
            await asyncio.to_thread(self._store.save, finished(self._record, verdict))
        except OSError as error:
            LOG.error("job %d: its verdict, %s, cannot be kept: %s", self._job.id, verdict.state, error)  # noqa: TRY400

    async def _deliver(self, delivery: Delivery, verdict: Verdict, trace: Trace) -> None:
        if self.stop.cause is not Cause.ABORTED and not await delivery.finish(verdict):
            return
        self._store.remove(self._record)
        trace.remove()
        ending = "aborted by the server" if self.stop.cause is Cause.ABORTED else verdict.state
        LOG.info("job %d: %s", self._job.id, ending)

    def _stages(self, workspace: Workspace, trace: Trace) -> Stages:
        times = self._limits.stages
        hands = Hands(workspace.rights)
        executor = ShellExecutor(
            workspace, trace, hands=hands, mark=self._record.mark, record=self._record_group, grace=times.grace
        )
        artifacts = Artifacts(
            self._client,
            self._key,
            trace,
            project_dir=workspace.project_dir,
            temp_dir=workspace.temp_dir,
            variables=workspace.variables,
            untracked=executor.untracked_files,
            hands=hands,
        )
        accepting = partial(accepts, self._job, workspace.variables, trace, self._limits.unsupported)
        steps = self._steps(workspace, trace, hands) if self._job.run else None
        return Stages(self._job, executor, artifacts, trace, self.stop, times, self._client.sleep, accepting, steps)

    def _steps(self, workspace: Workspace, trace: Trace, hands: Hands) -> StepsStage:
        mark = self._record.mark
        folder = steps_folder(workspace, mark)
        state = self._record.steps or RunningSteps(
            self._job.document, self._slot.short_token, self._slot.number, 0, time.time()
        )
        return StepsStage(
            self._client,
            self._job,
            workspace,
            mark,
            self._step_place(folder, workspace, hands),
            trace,
            state,
            self._record_steps,
            self.stop.order,
            self._limits.stages.grace,
            self._limits.stages.reach_steps,
            is_resumed=self._is_resumed,
        )

    def _step_place(self, folder: Path, workspace: Workspace, hands: Hands) -> StepPlace:
        if self._slot.steps is None:
            return LocalService(folder, workspace.bare_environment, workspace.rights, hands)
        return RemotePlace(folder, hands, self._slot.steps)

    def _make_workspace(self) -> tuple[Workspace | None, str]:
        try:
            return make_workspace(self._job, self._slot, self._record.mark), ""
        except PerdureError as error:
            return None, str(error)

    def _heed(self, reply: JobReply) -> None:
        if reply.answer is Answer.ABORT:
            self.stop.order(Cause.ABORTED)
        elif reply.canceling:
            self.stop.order(Cause.CANCELED)

    async def _record_steps(self, steps: RunningSteps) -> None:
        self._record = replace(self._record, steps=steps)
        await asyncio.to_thread(self._store.save, self._record)

    def _record_group(self, group: Group) -> None:
        self._record = replace(self._record, group=group.id, group_start=group.start)
        try:
            self._store.save(self._record, sync=False)
        except OSError as error:  # what a killed runner leaves of a job is found by its mark, too
            LOG.warning("job %d: which processes it has cannot be kept: %s", self._job.id, error)

    def _open_trace(self, file: Path, workspace: Workspace | None) -> Trace:
        secrets = workspace.secrets if workspace else frozenset({self._job.token})
        return Trace(
            file,
            Masker(secrets, (*TOKEN_PREFIXES, *self._job.features.token_mask_prefixes)),
            limit=self._limits.output,
            sections=self._job.features.trace_sections,
        )
