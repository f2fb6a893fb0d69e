"""The job of another pod that makes a request, once `api.pods.calls_of_jobs` has found its call to be good."""

from typing import Final

from starlette.types import Scope

from application.jobs.calls_of_other_pods import JobOfPod

SCOPE: Final = "perdure.job_of_pod"
"""Where the scope of a request holds the job that calls."""


def job_of_pod(scope: Scope) -> JobOfPod | None:
    """The job of another pod that makes a call; None for every other call."""
    found: JobOfPod | None = scope.get(SCOPE)
    return found
