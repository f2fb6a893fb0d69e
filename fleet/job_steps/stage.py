"""The stage of a job that runs its steps, and what a killed runner needs to go on with it."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from io import BytesIO
from pathlib import Path
from typing import Final

from domain.errors import PerdureError
from fleet.client import JobKey, RunnerClient, Upload
from fleet.executors.workspace import Workspace
from fleet.job import Job
from fleet.job_steps.request import run_request
from fleet.job_steps.step_log import StepLog
from fleet.job_steps.steps_run import StepPlace, StepsRun
from fleet.state import RunningSteps
from fleet.stop import Cause
from fleet.trace import Trace
from fleet.verdict import Verdict

ARTIFACT_TYPE: Final = "steps"
FILE_NAME: Final = "steps.json"
_MARK_SIZE: Final = 8


def steps_folder(workspace: Workspace, mark: str) -> Path:
    """The folder of a step runner of this machine; wherever steps run, it is there while the job runs."""
    return workspace.temp_dir / f"steps-{mark[:_MARK_SIZE]}"


@dataclass(slots=True)
class StepsStage:
    """Runs the steps of a job once, also if the runner is killed in the middle of it.

    `state` is what there is to know for that; `save` keeps it.
    """

    client: RunnerClient
    job: Job
    workspace: Workspace
    mark: str
    place: StepPlace
    trace: Trace
    state: RunningSteps
    save: Callable[[RunningSteps], Awaitable[None]]
    order: Callable[[Cause], None]
    grace: float
    patience: float
    is_resumed: bool
    log: StepLog | None = None

    async def run(self) -> Verdict:
        """Run them, or go on where a runner before was killed."""
        if self.is_resumed:
            self.trace.repeat_from(self.state.log_size)
        else:
            self.state = replace(self.state, log_size=self.trace.checkpoint())
            await self.save(self.state)
        run = StepsRun(
            run_request(self.job, self.workspace, f"job-{self.job.id}-{self.mark}", self._present),
            self.place,
            self.trace,
            is_begun=self.state.is_begun,
            begun=self._begun,
            order=self.order,
            grace=self.grace,
            patience=self.patience,
        )
        self.log = run.log
        return await run.run()

    async def upload(self) -> None:
        """Let the server keep what the steps gave, where it wants to: that it does not is told, and changes nothing."""
        if not self.job.features.steps_artifact or self.log is None:
            return
        content = json.dumps(self.log.document()).encode()
        upload = Upload(lambda: BytesIO(content), FILE_NAME, ARTIFACT_TYPE, "raw")
        try:
            await self.client.upload_artifact(JobKey(self.job.id, self.job.token), upload)
        except PerdureError as error:
            self.trace.warning(f"the job cannot be begun again at one of its steps: {error}")

    @property
    def _present(self) -> Path:
        return steps_folder(self.workspace, self.mark)

    async def _begun(self) -> None:
        self.state = replace(self.state, is_begun=True)
        await asyncio.shield(self.save(self.state))
