"""From an event to a pipeline: read the configuration, compile it for the event, persist all at once."""

from dataclasses import replace
from typing import Any, Final

from api.cache_keys import with_cache_keys
from api.compiling import Compilation
from api.config_sources import ConfigSources
from api.event_context import event_context
from api.not_carried_out import refuse_what_cannot_run
from api.places import places_for
from api.plan_cache import Event, is_lasting
from api.services import Services
from domain.bridges import CHILD
from domain.config.plan import Plan
from domain.errors import ConfigMissing, Invalid, NotFound
from git.repository import Repository
from models.notifications import OUTBOX
from models.repositories import accounts, pipelines, projects
from models.repositories.pipelines import PipelineRequest

CONFIG_FILE: Final = ".gitlab-ci.yml"
TRIGGER: Final = "trigger:include"
"""What messages call the configuration of a child pipeline, which is no file."""


async def create_pipeline(services: Services, request: PipelineRequest, repository: Repository) -> int:
    """Create a pipeline; its rows and the outbox row are one transaction.

    Raises `ConfigInvalid`, `PipelineFiltered`, `Invalid`.
    """
    request, plan = await prepare(services, request, repository)
    request = await with_head(request, repository)
    places = await places_for(services, request, plan)
    now = services.clock()
    async with services.database.write() as connection:
        pipeline_id = await pipelines.create(connection, request, plan, now, places)
    await services.notifications.notify(OUTBOX)
    await repository.keep(pipeline_id, request.sha)
    return pipeline_id


async def prepare(
    services: Services, request: PipelineRequest, repository: Repository, child_config: str = ""
) -> tuple[PipelineRequest, Plan]:
    """The request with its commit's facts, and the plan of the configuration at that commit for this event.

    A child pipeline has `child_config` in the place of the commit's configuration. What an event compiled to is kept
    for the next one that is the same, unless it may be another plan by then.
    """
    async with services.database.read() as connection:
        project = await projects.find(connection, request.project_id)
        user = await accounts.get(connection, request.user_id)
    if project is None:
        raise NotFound(f"404 Project {request.project_id} Not Found")
    event = Event.of(request, project, child_config)
    known = services.plans.get(event)
    if known is None:
        request = await with_commit(request, repository)
        known = await _compiled(services, request, project, user, repository, child_config)
        if is_lasting(known[1]):
            services.plans.put(event, known)
    return replace(request, commit=known[0]), known[1]


async def _compiled(
    services: Services, request: PipelineRequest, project: Any, user: Any, repository: Repository, child_config: str
) -> tuple[dict[str, str], Plan]:
    text = child_config or await read_config(services, request.sha, repository)
    context = event_context(services.settings, request, project, user, services.clock())
    parent = request.upstream_id if request.source == CHILD else None
    sources = ConfigSources.of_event(services, request, project, user, repository, parent_pipeline_id=parent)
    plan = await Compilation(services, text, context, sources, TRIGGER if child_config else CONFIG_FILE).plan()
    refuse_what_cannot_run(plan)
    return dict(request.commit), await with_cache_keys(plan, repository, request.sha)


async def read_config(services: Services, sha: str, repository: Repository) -> str:
    """The configuration at a commit. Raises `ConfigMissing`, `Invalid`, `TooLarge`."""
    raw = await repository.read_file(sha, CONFIG_FILE, limit=services.settings.sizes.config_bytes)
    if raw is None:
        raise ConfigMissing(f"Missing CI config file: commit {sha[:8]} has no {CONFIG_FILE} at its top.")
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        raise Invalid(f"{CONFIG_FILE} is not UTF-8 text (byte {error.start}).") from error


async def with_head(request: PipelineRequest, repository: Repository) -> PipelineRequest:
    """The request with the commit that its ref points to by now: one may have come while this one was compiled."""
    name = f"refs/tags/{request.ref}" if request.tag else request.ref
    return replace(request, head=await repository.resolve(name) or "")


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
