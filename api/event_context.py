"""What the compiler is told about an event of this server. Reference: CI YAML, section 10."""

from datetime import datetime
from typing import Any

from domain.bridges import CHILD
from domain.config.context import Context, RefKind
from domain.config.plan import Variable
from domain.predefined import EventFacts, pipeline_variables
from domain.protection import is_protected
from models.repositories.pipelines import PipelineRequest
from settings import Settings


def event_context(settings: Settings, request: PipelineRequest, project: Any, user: Any, now: datetime) -> Context:
    """The event of a request whose commit is known; `project` and `user` are rows.

    `CI_PIPELINE_IID` is the number that comes next: another pipeline may take it before this one is written.
    """
    facts = event_facts(settings, request, project, user, now, iid=project.pipeline_count + 1)
    return Context(
        source=request.source,
        ref=request.ref,
        ref_kind=RefKind.TAG if request.tag else RefKind.BRANCH,
        predefined=pipeline_variables(facts),
        pipeline={item["key"]: Variable(item["value"], bool(item.get("raw"))) for item in request.variables},
        inputs=request.inputs,
        project_path=project.full_path,
        parent_job_artifacts=request.source == CHILD,
    )


def event_facts(
    settings: Settings, event: Any, project: Any, user: Any, created_at: datetime, *, iid: int
) -> EventFacts:
    """What there is to know of an event: `event` is a `PipelineRequest` or the row of a pipeline."""
    commit = event.commit
    return EventFacts(
        server_url=settings.url,
        project_id=project.id,
        project_name=project.name,
        project_path=project.full_path,
        project_url=f"{settings.url}/{project.full_path}",
        default_branch=project.default_branch,
        project_visibility=project.visibility,
        pipeline_iid=iid,
        pipeline_source=event.source,
        pipeline_created_at=created_at,
        ref=event.ref,
        is_tag=event.tag,
        ref_protected=is_protected(event.ref, project.default_branch, tag=event.tag),
        sha=event.sha,
        before_sha=event.before_sha,
        commit_message=commit.get("message", ""),
        commit_author=f"{commit.get('author_name', '')} <{commit.get('author_email', '')}>",
        commit_timestamp=datetime.fromisoformat(commit["timestamp"]) if commit else created_at,
        user_id=user.id,
        user_login=user.username,
        user_name=user.name,
        user_email=user.email,
        upstream_project_id=event.upstream_project_id,
        upstream_pipeline_id=event.upstream_id,
        upstream_job_id=event.bridge_id,
    )
