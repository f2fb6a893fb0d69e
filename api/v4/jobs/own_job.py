"""The job that a call comes from: told by its own token."""

from api.deps import ServicesDep
from api.routes import RouteList
from api.v4.access import KnownCallerDep
from api.v4.jobs.jobs import full
from api.v4.representation.jobs import JobResponse
from application.access import access_to
from domain.errors import Unauthenticated

router = RouteList()


@router.get("/job")
async def own_job(caller: KnownCallerDep, services: ServicesDep) -> JobResponse:
    """The running job whose token this call shows. Answers 401 to everybody else."""
    if not caller.job_id:
        raise Unauthenticated("Unauthorized")
    project = await access_to(services, caller, caller.job_project_id)
    return await full(services, caller.job_id, project.row)
