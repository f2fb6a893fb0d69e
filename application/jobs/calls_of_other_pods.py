"""Calls that jobs of other pods make to projects of this one: by the rights of the account that their user has here."""

from dataclasses import dataclass, replace

from application.access import caller_from
from application.pods.cross_pod_people import person_of_pod
from application.pods.other_pods import require_places
from application.services import Services
from auth.permissions import NOBODY, Caller
from domain.errors import Unavailable
from domain.pods.directory import IdKind, Pod
from domain.pods.job_calls import CallingJob


@dataclass(frozen=True, slots=True)
class JobOfPod:
    """A job, and the pod that has signed that it calls."""

    pod: Pod
    job: CallingJob

    @property
    def key(self) -> str:
        """Whose share of everything limited a call takes."""
        return f"job {self.job.id}"


async def caller_of(services: Services, calling: JobOfPod, address: str = "") -> Caller:
    """The account here of a job's user; where they have none, nobody: what is open is open to their jobs, too.

    A pod speaks for jobs of organisations that live there. Raises `Unavailable` for any other: somebody's copy of the
    directory may be older.
    """
    pod, job = calling.pod, calling.job
    directory = require_places(services, pod, job.full_path, "")
    ids = {IdKind.PROJECT: (job.project_id,), IdKind.GROUP: job.group_ids}
    if any(directory.of_id(one, kind) != pod.number for kind, found in ids.items() for one in found):
        raise Unavailable(f"Project {job.full_path} is not known to be in pod {pod.name}.")
    user = await person_of_pod(services, directory, pod.number, job.username, job.home_id)
    caller = NOBODY if user is None else caller_from(user, address=address)
    return replace(caller, job_id=job.id, job_project_id=job.project_id, job_groups=job.group_ids)
