"""What the compiler is told about an event of this server.

Source: docs/reference/ci-yaml.md, "Predefined variables".
"""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from domain.config.context import Context, RefKind
from domain.config.plan import Variable
from domain.merge_requests.merge_request import branch_of
from domain.pipelines.bridges import CHILD
from domain.pipelines.origin import origin_facts
from domain.projects.config_place import CONFIG_FILE, config_ref
from domain.projects.ref_names import full_ref
from domain.variables.ci_variables import CiVariable, chosen
from domain.variables.predefined import EventFacts, MergeRequestFacts, pipeline_variables
from models.repositories.pipelines.pipelines import PipelineRequest
from models.rows.accounts import UserRow
from models.rows.pipelines import PipelineRow
from models.rows.projects import ProjectRow
from settings import Settings


def event_context(
    settings: Settings,
    request: PipelineRequest,
    project: ProjectRow,
    user: UserRow,
    now: datetime,
    ours: Iterable[CiVariable] = (),
) -> Context:
    """The event of a request whose commit is known.

    `ours` are the variables of instance, groups and project; those for single environments do not count here.
    `CI_PIPELINE_IID` is the number that comes next: another pipeline may take it before this one is written.
    """
    facts = event_facts(settings, request, project, user, now, iid=project.pipeline_count + 1)
    unscoped = chosen(ours, protected=request.ref_protected)
    return Context(
        source=request.source,
        ref=facts.ref,
        ref_kind=_kind(request),
        predefined=pipeline_variables(facts),
        project={item.key: Variable(item.value, item.raw) for item in unscoped},
        masked=frozenset(item.key for item in unscoped if item.masked),
        hidden=frozenset(item.key for item in unscoped if item.masked or item.protected),
        pipeline={item["key"]: Variable(item["value"], bool(item.get("raw"))) for item in request.variables},
        inputs=request.inputs,
        project_path=project.full_path,
        parent_job_artifacts=request.source == CHILD,
    )


def event_facts(
    settings: Settings,
    event: PipelineRequest | PipelineRow,
    project: ProjectRow,
    user: UserRow,
    created_at: datetime,
    *,
    iid: int,
    name: str = "",
) -> EventFacts:
    """What there is to know of an event; `name` is that of the pipeline."""
    commit = event.commit
    return EventFacts(
        server_url=settings.url,
        project_id=project.id,
        project_name=project.name,
        project_path=project.full_path,
        project_url=f"{settings.url}/{project.full_path}",
        default_branch=project.default_branch,
        project_visibility=project.visibility,
        project_description=project.description,
        project_namespace_id=project.namespace_id,
        project_languages=tuple(project.languages),
        registry=settings.registry_url,
        pipeline_iid=iid,
        pipeline_source=event.source,
        pipeline_name=name,
        pipeline_created_at=created_at,
        ref=branch_of(event.ref, event.merge_request),
        is_tag=event.tag,
        ref_protected=event.ref_protected,
        sha=event.sha,
        before_sha=event.before_sha,
        commit_message=commit.get("message", ""),
        commit_author=f"{commit.get('author_name', '')} <{commit.get('author_email', '')}>",
        commit_timestamp=datetime.fromisoformat(commit["timestamp"]) if commit else created_at,
        user_id=user.id,
        user_login=user.username,
        user_name=user.name,
        user_email=user.email,
        schedule_description=event.schedule_description,
        upstream_project_id=event.upstream_project_id or event.origin.get("upstream_project_id"),
        upstream_pipeline_id=event.upstream_id or event.origin.get("upstream_pipeline_id"),
        commit_user_login=user.username if is_author(commit, user.email) else "",
        config_path=project.config_path or CONFIG_FILE,
        config_ref=config_ref(project.config_path, event.config_source, full_ref(event.ref, tag=event.tag)),
        **origin_facts(event.origin, event.bridge_id),
        open_merge_requests=tuple(event.open_merge_requests),
        merge_request=merge_request_facts(event.merge_request),
    )


def is_author(commit: Mapping[str, Any], email: str) -> bool:
    """Whether who started a pipeline wrote its commit. Nobody else is named: addresses of others are not public."""
    return bool(email) and str(commit.get("author_email", "")).lower() == email.lower()


def merge_request_facts(stored: Mapping[str, Any]) -> MergeRequestFacts | None:
    """The facts of a merge request as a pipeline keeps them; None for a pipeline of something else."""
    return MergeRequestFacts(**_with_tuples(stored)) if stored else None


def _with_tuples(stored: Mapping[str, Any]) -> dict[str, Any]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in stored.items()}


def _kind(request: PipelineRequest) -> RefKind:
    if request.merge_request:
        return RefKind.MERGE_REQUEST
    return RefKind.TAG if request.tag else RefKind.BRANCH
