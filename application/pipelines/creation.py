"""From an event to a pipeline: read the configuration, compile it for the event, persist all at once."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from application.configurations.compiling import Compilation
from application.configurations.config_sources import ConfigSources
from application.configurations.plan_cache import Event, Known, is_lasting
from application.configurations.project_config import Configuration, configuration_of
from application.limits.actions import Limited
from application.pipelines.cache_keys import with_cache_keys
from application.pipelines.ci_variables import edition, opened
from application.pipelines.deployment_targets import places_for
from application.pipelines.event_context import event_context
from application.pipelines.sealed_values import seal_of
from application.pipelines.unsupported_keywords import refuse_what_cannot_run
from application.services import Services
from domain.config.plan import Plan
from domain.errors import NotFound
from domain.merge_requests.merge_request import own_branch_of
from domain.pipelines.bridges import CHILD
from domain.projects.config_place import ConfigSource
from domain.projects.ref_names import full_ref
from domain.variables.ci_variables import CiVariable
from git.repository import Repository
from git.writing.tags import message_of
from models.notifications import OUTBOX, PIPELINES, project_topic
from models.repositories.accounts import accounts
from models.repositories.merge_requests import merge_requests
from models.repositories.pipelines import pipelines
from models.repositories.pipelines.pipelines import PipelineRequest
from models.repositories.projects import ci_variables, projects, protected_refs
from models.rows.accounts import UserRow
from models.rows.projects import ProjectRow

TRIGGER: Final = "trigger:include"
"""What messages call the configuration of a child pipeline, which is no file."""


async def create_pipeline(services: Services, request: PipelineRequest, repository: Repository) -> int:
    """Create a pipeline; its rows and the outbox row are one transaction.

    Raises `ConfigInvalid`, `PipelineFiltered`, `Invalid`, `TooMany`.
    """
    services.limits.note(Limited.PIPELINE, request.project_id, request.user_id, request.sha)
    request, plan = await prepare(services, request, repository)
    request = await with_head(request, repository)
    places = await places_for(services, request, plan)
    now = services.clock()
    async with services.database.write() as connection:
        pipeline_id = await pipelines.create(connection, request, plan, now, places, seal=seal_of(services.sealer))
    services.metrics.created(request.source, len(plan.jobs))
    await services.notifications.notify(OUTBOX)
    await services.notifications.show(project_topic(request.project_id), PIPELINES)
    await repository.keep(pipeline_id, request.sha)
    return pipeline_id


async def prepare(
    services: Services, request: PipelineRequest, repository: Repository, child_config: str = ""
) -> tuple[PipelineRequest, Plan]:
    """The request with its commit's facts, and the plan of the configuration at that commit for this event.

    A child pipeline has `child_config` in the place of the commit's configuration. What an event compiled to is kept
    for the next one that is the same, unless it may be another plan by then.
    """
    with services.metrics.creating():
        return await _prepared(services, request, repository, child_config)


async def _prepared(
    services: Services, request: PipelineRequest, repository: Repository, child_config: str
) -> tuple[PipelineRequest, Plan]:
    async with services.database.read() as connection:
        project = await projects.find(connection, request.project_id)
        user = await accounts.get(connection, request.user_id)
        protection = await protected_refs.of_project(connection, request.project_id)
        variables = await ci_variables.reaching(connection, request.project_id)
        branch = "" if request.tag else own_branch_of(request.ref, request.merge_request)
        of_branch = await merge_requests.open_of_branch(connection, request.project_id, branch)
    if project is None:
        raise NotFound(f"Project {request.project_id} Not Found")
    if not request.merge_request:
        request = replace(request, ref_protected=protection.protects(request.ref, tag=request.tag))
    request = await with_tag_message(replace(request, open_merge_requests=tuple(of_branch)), repository)
    event = Event.of(request, project, child_config, edition(variables))
    known = services.plans.get(event)
    if known is None:
        request = await with_commit(request, repository)
        ours = opened(services.sealer, variables)
        known = await _compiled(services, request, project, user, repository, child_config, ours)
        if is_lasting(known[1]):
            services.plans.put(event, known)
    return replace(request, commit=known[0], config_source=known[2]), known[1]


async def _compiled(
    services: Services,
    request: PipelineRequest,
    project: ProjectRow,
    user: UserRow,
    repository: Repository,
    child_config: str,
    ours: Iterable[CiVariable],
) -> Known:
    if child_config:
        config = Configuration(child_config, TRIGGER, ConfigSource.BRIDGE)
    else:
        config = await configuration_of(services, project, request.sha, repository, request.inputs)
    event = replace(request, config_source=config.source)
    context = event_context(services.settings, event, project, user, services.clock(), ours)
    context = context if config.takes_inputs else replace(context, inputs={})
    parent = request.upstream_id if request.source == CHILD else None
    sources = ConfigSources.of_event(services, request, project, user, repository, parent_pipeline_id=parent)
    plan = await Compilation(services, config.text, context, sources, config.file).plan()
    refuse_what_cannot_run(plan)
    return dict(request.commit), await with_cache_keys(plan, repository, request.sha), config.source


async def with_tag_message(request: PipelineRequest, repository: Repository) -> PipelineRequest:
    """The request with the message of its tag, if it is for an annotated one; another may have taken its name since."""
    message = await message_of(repository, request.ref) if request.tag else ""
    return replace(request, origin={**request.origin, "tag_message": message}) if message else request


async def with_head(request: PipelineRequest, repository: Repository) -> PipelineRequest:
    """The request with the commit that its ref points to by now: one may have come while this one was compiled."""
    return replace(request, head=await repository.resolve(full_ref(request.ref, tag=request.tag)) or "")


async def with_commit(request: PipelineRequest, repository: Repository) -> PipelineRequest:
    """The request with message, title and author of its commit."""
    commit = await repository.commit(request.sha)
    facts = {
        "title": commit.title,
        "message": commit.message,
        "author_name": commit.author_name,
        "author_email": commit.author_email,
        "timestamp": commit.authored_at.isoformat(),
    }
    return replace(request, commit=facts)
