"""Calls that a running job makes to a project of another pod, with the token that this pod has given it.

The token stays here: this pod says who calls, and signs that (docs/pods.md, "Calls of jobs").
"""

from typing import Final

from application.bridges.hierarchy import hierarchy_of
from application.jobs.job_access import claims_for, held
from application.jobs.job_callers import job_and_user
from application.pods.cross_pod_people import account_at_home
from application.services import Services
from auth.job_token import NAMING, Scope, scope_of
from domain.errors import Forbidden
from domain.pipelines.bridges import Ancestor
from domain.pods.job_calls import CallingJob
from models.repositories.namespaces import namespaces
from models.repositories.pipelines import pipelines
from models.repositories.projects import projects

_NOTHING: Final[tuple[tuple[Ancestor, ...], int]] = ((), 0)
"""What leads to the pipelines of a call that starts none."""
_GONE: Final = "Forbidden: the project of this job is being removed."


async def calling_job(services: Services, token: str, scope: Scope) -> CallingJob:
    """The running job whose token is shown, which must be for `scope`; its lease is renewed.

    Raises `Forbidden`, `JobNotRunning`, `Unauthenticated` for a user who is blocked.
    """
    claims = claims_for(services, token)
    claims.require(scope_of(scope, claims.project_id) if scope in NAMING else scope)
    job, user = await job_and_user(services, claims)
    async with services.database.read() as connection:
        project = await projects.find(connection, claims.project_id)
        if project is None:
            raise Forbidden(_GONE)
        around = await namespaces.get_by(connection, key=project.namespace_id)
        above, size = _NOTHING
        if scope is Scope.TRIGGER:
            above, size = await hierarchy_of(services, connection, await pipelines.get(connection, job.pipeline_id))
    async with services.database.write() as connection:
        await held(connection, claims)
    groups = tuple(int(part) for part in around.trail.split("/") if part)
    who = (user.username, account_at_home(user))
    return CallingJob(job.id, project.id, project.full_path, groups, *who, job.pipeline_id, above, size)
