"""The environments and resource groups of a pipeline that is about to be made.

Source: docs/reference/ci-yaml.md, "Variables"; docs/reference/pipelines.md, "Environments".
"""

from application.pipelines.ci_variables import reaching
from application.pipelines.event_context import event_facts
from application.services import Services
from domain.config.plan import Plan
from domain.environments.places import NOWHERE, Place, places_of
from domain.errors import NotFound
from domain.variables.ci_variables import as_job_variable, chosen
from domain.variables.job_variables import JobVariable
from domain.variables.predefined import pipeline_variables
from models.repositories.accounts import accounts
from models.repositories.pipelines.pipelines import PipelineRequest
from models.repositories.projects import projects


async def places_for(services: Services, request: PipelineRequest, plan: Plan) -> tuple[Place, ...]:
    """The place of each job of a plan, with the variables of the event and of the pipeline put in.

    Reads nothing when no job asks for one. Raises `ConfigInvalid`.
    """
    if not any(job.environment is not None or job.resource_group for job in plan.jobs):
        return (NOWHERE,) * len(plan.jobs)
    async with services.database.read() as connection:
        project = await projects.find(connection, request.project_id)
        user = await accounts.get(connection, request.user_id)
        ours = await reaching(services, connection, request.project_id)
    if project is None:
        raise NotFound(f"Project {request.project_id} Not Found")
    facts = event_facts(services.settings, request, project, user, services.clock(), iid=project.pipeline_count + 1)
    known = tuple(JobVariable(key, value, raw=True) for key, value in pipeline_variables(facts).items())
    asked = tuple(
        JobVariable(item["key"], item["value"], raw=bool(item.get("raw", False))) for item in request.variables
    )

    def of_owners(environment: str) -> tuple[JobVariable, ...]:
        found = chosen(ours, protected=request.ref_protected, environment=environment)
        return tuple(as_job_variable(item) for item in found)

    return places_of(plan, known, asked, of_owners)
