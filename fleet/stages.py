"""The stages of one job on this machine, in the protocol's order, and the verdict they lead to."""

import contextlib
import logging
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from typing import Protocol

from domain.errors import Invalid, PerdureError
from fleet.artifacts import Artifacts, wanted
from fleet.executors.shell import ShellExecutor
from fleet.features import RUNNER_NAME, runner_version
from fleet.job import AFTER_SCRIPT, Job
from fleet.job_inputs import with_inputs
from fleet.reachable import until_reachable
from fleet.stop import GRACEFUL, Cause, Stop
from fleet.trace import GREEN, RESET, Trace
from fleet.unsupported import REFUSED
from fleet.verdict import SUCCESS, Verdict, failed

SOURCE_ATTEMPTS = 3
"""How often sources are fetched unless `GET_SOURCES_ATTEMPTS` says otherwise; a server may just be restarting."""

STOP_VERDICTS = {
    Cause.CANCELED: failed("job_canceled"),
    Cause.TIMEOUT: failed("job_execution_timeout"),
    Cause.INTERRUPTED: failed("runner_interrupted"),
    Cause.ABORTED: failed("job_canceled"),
}

LOG = logging.getLogger(__name__)


class RunSteps(Protocol):
    """Runs the steps of a job (`fleet.job_steps.stage`)."""

    is_resumed: bool
    """Whether a runner that was killed has begun with them."""

    async def run(self) -> Verdict:
        """Run them."""

    async def upload(self) -> None:
        """Let the server keep what they gave."""


@dataclass(frozen=True, slots=True)
class StageTimes:
    """Seconds that parts of a job may take or wait."""

    grace: float = 10.0
    """Between SIGTERM and SIGKILL."""
    after_script: float = 300.0
    source_pause: float = 2.0
    """Before sources are fetched again, times the number of failures."""
    reach_sources: float = 60.0
    """For which the server of the sources may be out of reach before they are fetched again."""
    reach_steps: float = 60.0
    """For which a step runner may be out of reach."""


class Stages:
    """Runs a job's stages; everything they say goes to its log."""

    def __init__(
        self,
        job: Job,
        executor: ShellExecutor,
        artifacts: Artifacts,
        trace: Trace,
        stop: Stop,
        times: StageTimes,
        sleep: Callable[[float], Awaitable[None]],
        accepts: Callable[[], Awaitable[bool]],
        run_steps: RunSteps | None = None,
    ) -> None:
        """`stop` may be ordered at any time; `sleep` is handed in so that tests need not wait.

        `accepts` says in the log what is left out of the job, and whether it is run nevertheless. `run_steps` is for a
        job with `run`.
        """
        self._job, self._executor, self._artifacts, self._trace = job, executor, artifacts, trace
        self._stop, self._times, self._sleep, self._accepts = stop, times, sleep, accepts
        self._run_steps = run_steps
        self._script_began = False

    async def run(self) -> Verdict:
        """Everything from the folders to the uploads; the job's processes are gone when this returns."""
        try:
            verdict = await self._guarded(self._script())
            if verdict is not REFUSED and self._goes_on():
                if self._script_began:
                    await self._after_script(verdict)
                verdict = await self._upload(verdict)
            self._say_end(verdict)
        except (PerdureError, OSError) as error:
            LOG.exception("job %d: the runner failed", self._job.id)
            verdict = failed("runner_system_failure")
            with contextlib.suppress(PerdureError):
                self._trace.error(f"Job failed (system failure): {error}")
        finally:
            if self._stop.cause is not None or self._run_steps is not None:
                await self._executor.end_all()
            await self._executor.clean_up()
        return verdict

    async def _guarded(self, work: Coroutine[None, None, Verdict]) -> Verdict:
        steps = self._run_steps
        limit = self._job.timeout if steps is None or not steps.is_resumed else None  # it is over when the run is
        ended = await self._stop.guard(work, limit, script=True)
        if isinstance(ended, Verdict):
            return ended
        self._stop.order(ended)
        return STOP_VERDICTS[self._stop.cause or ended]

    def _goes_on(self) -> bool:
        return self._stop.cause is None or self._stop.cause in GRACEFUL

    async def _script(self) -> Verdict:
        if self._run_steps is not None and self._run_steps.is_resumed:
            self._job = with_inputs(self._job)
            return await self._steps()
        with self._trace.section("prepare_executor", 'Preparing the "shell" executor'):
            self._trace.write_line(f"Running with {RUNNER_NAME} {runner_version()}, using the shell executor...")
            if not await self._accepts():
                return REFUSED
            await self._executor.prepare()
            try:
                self._job = with_inputs(self._job)
            except Invalid as error:
                self._trace.error(str(error))
                return failed("script_failure")
        with self._trace.section("get_sources", "Getting source from Git repository"):
            if status := await self._get_sources():
                self._trace.error(f"git ended with status {status}")
                return failed("runner_system_failure")
        dependencies = [dependency for dependency in self._job.dependencies if dependency.filename]
        if dependencies:
            with self._trace.section("download_artifacts", "Downloading artifacts"):
                if not await self._artifacts.download(dependencies):
                    return failed("script_failure")
        return await self._steps()

    async def _get_sources(self) -> int:
        attempts = self._executor.source_attempts or SOURCE_ATTEMPTS
        for attempt in range(1, attempts + 1):
            status = await self._executor.get_sources(self._job.git)
            if status == 0 or attempt == attempts:
                break
            self._trace.warning(f"git ended with status {status}; trying again")
            await self._sleep(self._times.source_pause * attempt)
            await until_reachable(self._job.git.repo_url, self._times.reach_sources, self._sleep)
        return status

    async def _steps(self) -> Verdict:
        self._script_began = True
        if self._run_steps is not None:
            return await self._run_steps.run()
        for step in self._job.steps:
            if step.name == AFTER_SCRIPT:
                continue
            with self._trace.section("step_script", f'Executing "step_{step.name}" stage of the job script'):
                if status := await self._executor.run_step(step, "running"):
                    return failed("script_failure", exit_code(status))
        return SUCCESS

    async def _after_script(self, verdict: Verdict) -> None:
        """Its own failure changes nothing."""
        status = "canceled" if self._stop.cause is Cause.CANCELED else verdict.state
        for step in self._job.steps:
            if step.name != AFTER_SCRIPT or not step.script:
                continue
            with self._trace.section("after_script", "Running after_script"):
                work = self._executor.run_step(step, status)
                ended = await self._stop.guard(work, self._times.after_script, script=False)
                if ended is Cause.TIMEOUT:
                    self._trace.warning(f"after_script was ended after {self._times.after_script:.0f} s")
                elif isinstance(ended, int) and ended:
                    self._trace.warning(
                        f"after_script failed with exit status {exit_code(ended)}; this changes nothing"
                    )

    async def _upload(self, verdict: Verdict) -> Verdict:
        if self._run_steps is not None and self._goes_on():
            await self._stop.guard(self._run_steps.upload(), None, script=False)
        success = verdict.state == "success"
        requests = wanted(self._job.artifacts, success)
        if not requests:
            return verdict
        if self._stop.cause is not None and self._stop.cause not in GRACEFUL:
            # A success without its artifacts would be a lie to the jobs that need them.
            return STOP_VERDICTS[self._stop.cause]
        name = "upload_artifacts_on_success" if success else "upload_artifacts_on_failure"
        with self._trace.section(name, f"Uploading artifacts for {'successful' if success else 'failed'} job"):
            complete = await self._stop.guard(self._artifacts.upload(requests), None, script=False)
        if isinstance(complete, Cause):
            return STOP_VERDICTS[complete]
        return failed("script_failure") if success and not complete else verdict

    def _say_end(self, verdict: Verdict) -> None:
        if verdict.state == "success":
            self._trace.write_line(f"{GREEN}Job succeeded{RESET}")
        elif self._stop.cause is Cause.TIMEOUT:
            self._trace.error(f"Job failed: execution took longer than {self._job.timeout} seconds")
        elif verdict.exit_code:
            self._trace.error(f"Job failed: exit status {verdict.exit_code}")
        else:
            self._trace.error(f"Job failed: {verdict.failure_reason.replace('_', ' ')}")


def exit_code(status: int) -> int:
    """A process' status as shells report it: 128 + n for one that signal n ended."""
    return 128 - status if status < 0 else status
