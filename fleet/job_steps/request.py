"""What a step runner is asked for a job. Source: docs/reference/steps.md, "Steps of a job", "The product's service"."""

import json
from pathlib import Path
from typing import Any, Final

from google.protobuf.json_format import ParseDict

from domain.errors import Invalid
from domain.steps.reading import WITHOUT_SPEC
from fleet.executors.workspace import Workspace
from fleet.job import Job
from steps.proto import runs_pb2 as messages

NOT_PASSED: Final = frozenset({"STEPS", "FF_USE_NATIVE_STEPS"})
"""Variables that are for other ways to run steps."""


def run_request(job: Job, workspace: Workspace, run_id: str, present: Path) -> messages.RunRequest:
    """The run of a job's steps, in the job's folder; `present` is what the step runner must find, or it is elsewhere.

    Raises `Invalid` for steps that are no list.
    """
    request = messages.RunRequest(
        id=run_id,
        work_dir=str(workspace.project_dir),
        steps=WITHOUT_SPEC + json.dumps({"run": _calls(job)}),
        present=[str(present)],
    )
    request.timeout.FromSeconds(job.timeout)
    masked = {variable.key for variable in job.variables if variable.masked}
    for name, value in workspace.variables.items():
        if name not in NOT_PASSED:
            request.job.variables.add(key=name, value=value, masked=name in masked)
    for name, done in job.done.items():
        ParseDict({"outputs": dict(done.outputs), "exports": dict(done.exports)}, request.done[name])
    return request


def _calls(job: Job) -> list[Any]:
    try:
        calls = json.loads(job.run)
    except ValueError as error:
        raise Invalid(f"`run` of the job is no JSON: {error}") from None
    if not isinstance(calls, list):
        raise Invalid("`run` of the job is no list of steps")
    return calls
