"""Pipelines of merge requests: what they test, in which project, with which facts; made once for each event.

Source of the rules: GitLab's documentation of merge request pipelines, merged results pipelines and forks.
"""

from dataclasses import asdict, dataclass, replace

import structlog

from application.access import ProjectAccess, access_to, caller_from
from application.merge_requests.context import MergeContext, surroundings_of
from application.merge_requests.telling import tell
from application.pipelines.prepared import Prepared
from application.pipelines.prepared import prepared as compiled
from application.services import Services
from domain.config.issue import ConfigIssue
from domain.config.plan import Plan
from domain.errors import ConfigMissing, Forbidden, Invalid, NotFound, Unauthenticated
from domain.merge_requests.merge_request import (
    CONFLICTS,
    EventType,
    State,
    is_draft,
    may_use_secrets,
    merged_result_message,
)
from domain.pipelines.skipping import BY_MESSAGE, BY_OPTION, is_skipped
from domain.projects.protection import Protection
from domain.variables.predefined import MAX_DESCRIPTION, MERGE_REQUEST_SOURCE, MergeRequestFacts
from git.reading.signature import Signature
from git.writing.merging import merge
from models.notifications import OUTBOX
from models.repositories.accounts import accounts
from models.repositories.merge_requests import merge_request_events, merge_requests
from models.repositories.pipelines.pipelines import PipelineRequest
from models.repositories.projects import milestones, protected_refs
from models.rows.accounts import UserRow
from models.rows.merge_requests import MergeRequestEventRow
from models.rows.projects import ProjectRow

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Trial:
    """What a pipeline tests: `sha`, which is the source branch's head or a merge of it into `target_sha`."""

    event_type: EventType
    sha: str
    target_sha: str = ""
    warning: str = ""


@dataclass(frozen=True, slots=True)
class Actor:
    """In whose name a pipeline is made, and with which rights in the project that it runs in."""

    user: UserRow
    access: ProjectAccess


@dataclass(frozen=True, slots=True)
class PreparedPipeline:
    """A pipeline that can be written, and what it tests."""

    made: Prepared
    trial: Trial
    project: ProjectRow


async def trial_of(services: Services, here: MergeContext, actor: UserRow, *, in_target: bool = True) -> Trial:
    """The result of the merge, where the project wants that and the two go together; else the branch alone."""
    alone = Trial(EventType.DETACHED, here.row.head_sha)
    target = await here.target_head() if in_target and here.target.merge_pipelines_enabled else None
    if target is None:
        return alone
    signature = Signature(actor.name or actor.username, actor.email, services.clock())
    message = merged_result_message(here.row.head_sha, target)
    try:
        merged = await merge(here.repository, target, here.row.head_sha, message, signature)
    except Invalid:
        return alone
    if merged.sha is None:
        return replace(alone, warning=f"{CONFLICTS}: the pipeline runs on the source branch alone.")
    return Trial(EventType.MERGED_RESULT, merged.sha, target)


async def prepared(
    services: Services, here: MergeContext, user_id: int, *, trial: Trial | None = None, in_target: bool = False
) -> PreparedPipeline | None:
    """The pipeline of a merge request's head; None if nothing is to run for it, or nobody may let it run.

    One from a fork runs in the fork, unless `in_target` says that somebody of the target has asked for it. Raises
    `Unavailable`.
    """
    in_target = in_target or here.same_project
    project = here.target if in_target else here.source
    if project is None:
        return None
    actor = await _actor(services, here, user_id, project)
    if actor is None:
        return None
    trial = trial or await trial_of(services, here, actor.user, in_target=in_target)
    request = await _request(services, here, actor, trial)
    repository = services.repositories.get(project.id)
    # A train goes on whatever the commits say: what is merged has to be tested.
    skips = trial.event_type is not EventType.TRAIN
    message = (await here.repository.commit(here.row.head_sha)).message
    skip = BY_MESSAGE if skips and is_skipped(MERGE_REQUEST_SOURCE, message) else ""
    made = await compiled(services, request, repository, skip=skip)
    if isinstance(made.error, ConfigMissing):
        return None
    if made.plan is not None:
        made = replace(made, request=replace(made.request, head=trial.sha), plan=_warned(made.plan, trial.warning))
    return PreparedPipeline(made, trial, project)


def _warned(plan: Plan, warning: str) -> Plan:
    return replace(plan, warnings=(*plan.warnings, ConfigIssue(warning))) if warning else plan


async def _actor(services: Services, here: MergeContext, user_id: int, project: ProjectRow) -> Actor | None:
    """Who makes it; None for somebody who may not run pipelines of the source branch."""
    async with services.database.read() as connection:
        user = await accounts.get(connection, user_id)
    try:
        access = await access_to(services, caller_from(user), project.id)
        is_own = here.row.source_project_id == project.id
        access.require_run(here.row.source_branch if is_own else here.ref(EventType.DETACHED), tag=False)
    except (Forbidden, NotFound, Unauthenticated) as error:
        log.info("no pipeline for a merge request", merge_request=here.reference, user=user.username, why=str(error))
        return None
    return Actor(user, access)


async def _request(services: Services, here: MergeContext, actor: Actor, trial: Trial) -> PipelineRequest:
    project = actor.access.row
    in_target = project.id == here.target.id
    async with services.database.read() as connection:
        of_target = await protected_refs.of_project(connection, here.target.id)
        of_source = of_target
        if here.source is not None and not here.same_project:
            of_source = await protected_refs.of_project(connection, here.source.id)
        approved = bool(await merge_requests.approvals(connection, here.row.id))
        assignees = [(await accounts.get(connection, key)).username for key in here.row.assignee_ids]
        milestone = (await milestones.by_id(connection, [here.row.milestone_id])).get(here.row.milestone_id or 0)
    row, home = here.row, services.settings.url
    source, target = here.source or here.target, here.target
    away = not here.same_project
    facts = MergeRequestFacts(
        iid=row.iid,
        id=row.id,
        source_branch=row.source_branch,
        target_branch=row.target_branch,
        title=row.title,
        description=row.description[:MAX_DESCRIPTION],
        description_truncated=len(row.description) > MAX_DESCRIPTION,
        diff_id=row.diff_version,
        event_type=str(trial.event_type),
        diff_base_sha=row.base_sha,
        source_project_id=source.id if away else None,
        source_project_path=source.full_path if away else "",
        source_project_url=f"{home}/{source.full_path}" if away else "",
        target_project_id=None if in_target else target.id,
        target_project_path="" if in_target else target.full_path,
        target_project_url="" if in_target else f"{home}/{target.full_path}",
        source_sha=row.head_sha if trial.target_sha else "",
        target_sha=trial.target_sha,
        source_protected=of_source.protects(row.source_branch, tag=False),
        target_protected=of_target.protects(row.target_branch, tag=False),
        labels=tuple(row.labels),
        milestone="" if milestone is None else milestone.title,
        assignees=tuple(assignees),
        draft=is_draft(row.title),
        approved=approved,
        squash=row.squash,
    )
    return PipelineRequest(
        project_id=project.id,
        user_id=actor.user.id,
        ref=here.ref(trial.event_type) if in_target else row.source_branch,
        sha=trial.sha,
        source=MERGE_REQUEST_SOURCE,
        merge_request_id=row.id,
        source_sha=row.head_sha,
        merge_request=asdict(facts),
        ref_protected=_uses_secrets(here, actor, of_target),
    )


def _uses_secrets(here: MergeContext, actor: Actor, protection: Protection) -> bool:
    branches, level = (here.row.source_branch, here.row.target_branch), actor.access.level
    return may_use_secrets(
        same_project=here.same_project,
        source_protected=protection.protects(branches[0], tag=False),
        target_protected=protection.protects(branches[1], tag=False),
        may_run_both=all(protection.may_run(branch, level, tag=False) for branch in branches),
    )


async def carry_out(services: Services, event: MergeRequestEventRow) -> list[str]:
    """Make the pipeline of an event, once; what the pusher shall read. Raises `Unavailable`: it is tried again."""
    here = await surroundings_of(services, event.merge_request_id)
    if here is None or here.row.state != State.OPENED or here.row.head_sha != event.sha:
        await _drop(services, event)
        return []
    ready = await prepared(services, here, event.user_id)
    if ready is None:
        await _drop(services, event)
        return []
    if event.skip:
        ready = replace(ready, made=replace(ready.made, skip=BY_OPTION))
    saved = await save(services, here, ready, event_id=event.id)
    return [] if saved is None else saved.lines


@dataclass(frozen=True, slots=True)
class Saved:
    """A pipeline that was written (None: the rules want none), and what a pusher shall read of it."""

    pipeline_id: int | None
    lines: list[str]


async def save(
    services: Services, here: MergeContext, ready: PreparedPipeline, *, event_id: int | None = None
) -> Saved | None:
    """Write a pipeline with the ref it runs on, once for its event; None when the merge request has moved on."""
    now = services.clock()
    async with services.database.write() as connection:
        row = await merge_requests.lock(connection, here.row.id)
        mine = event_id is None or await merge_request_events.take(connection, event_id)
        if not mine or row is None or row.state != State.OPENED or row.head_sha != here.row.head_sha:
            return None
        pipeline_id = await ready.made.save(services, connection)
        if ready.trial.event_type is EventType.MERGED_RESULT:
            await here.repository.place(here.ref(EventType.MERGED_RESULT), ready.trial.sha)
        await merge_requests.change(connection, row.id, now)
    if pipeline_id is not None:
        await services.repositories.get(ready.project.id).keep(pipeline_id, ready.trial.sha)
        await services.notifications.notify(OUTBOX)
    await tell(services, here.row.id, here.target.id)
    return Saved(pipeline_id, ready.made.report(services, ready.project, pipeline_id, f"merge request !{row.iid}"))


async def _drop(services: Services, event: MergeRequestEventRow) -> None:
    async with services.database.write() as connection:
        await merge_request_events.take(connection, event.id)
