"""What the compiler is told about an event of this server. Reference: CI YAML, section 10."""

from datetime import datetime
from typing import Any

from domain.config.context import Context, RefKind
from domain.config.plan import Variable
from domain.predefined import EventFacts, pipeline_variables
from models.repositories.pipelines import PipelineRequest
from settings import Settings


def event_context(settings: Settings, request: PipelineRequest, project: Any, user: Any, now: datetime) -> Context:
    """The event of a request whose commit is known; `project` and `user` are rows."""
    return Context(
        source=request.source,
        ref=request.ref,
        ref_kind=RefKind.TAG if request.tag else RefKind.BRANCH,
        predefined=pipeline_variables(_facts(settings, request, project, user, now)),
        pipeline={variable["key"]: Variable(variable["value"]) for variable in request.variables},
        inputs=request.inputs,
        project_path=project.full_path,
    )


def _facts(settings: Settings, request: PipelineRequest, project: Any, user: Any, now: datetime) -> EventFacts:
    """`CI_PIPELINE_IID` is the number that comes next: another pipeline may take it before this one is written."""
    commit = request.commit
    return EventFacts(
        server_url=settings.url,
        project_id=project.id,
        project_name=project.name,
        project_path=project.full_path,
        project_url=f"{settings.url}/{project.full_path}",
        default_branch=project.default_branch,
        project_visibility=project.visibility,
        pipeline_iid=project.pipeline_count + 1,
        pipeline_source=request.source,
        pipeline_created_at=now,
        ref=request.ref,
        is_tag=request.tag,
        ref_protected=request.ref == project.default_branch,
        sha=request.sha,
        before_sha=request.before_sha,
        commit_message=commit.get("message", ""),
        commit_author=f"{commit.get('author_name', '')} <{commit.get('author_email', '')}>",
        commit_timestamp=datetime.fromisoformat(commit["timestamp"]) if commit else now,
        user_id=user.id,
        user_login=user.username,
        user_name=user.name,
        user_email=user.email,
    )
