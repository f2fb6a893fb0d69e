"""Pipelines as GitLab's JSON."""

from datetime import datetime

from typing_extensions import TypedDict

from api.v4.representation.people import Person, PersonResponse, person
from api.v4.representation.statuses import DetailedStatusResponse, detailed_status
from application.bridges.downstream_pipelines import ShownPipeline
from domain.moments import moment, span
from domain.pipelines.shown_status import shown_whole
from models.rows.pipelines import PipelineRow


class PipelineResponse(TypedDict):
    """A pipeline as an item of a list and inside a job."""

    id: int
    iid: int
    project_id: int
    sha: str
    ref: str
    status: str
    source: str
    created_at: str
    updated_at: str
    web_url: str
    name: str | None


class ListedPipelineResponse(PipelineResponse):
    """A pipeline in a list; `detailed_status` is our own there."""

    detailed_status: DetailedStatusResponse


class PipelineDetailsResponse(ListedPipelineResponse):
    """A pipeline in full; whole seconds for `duration`, as GitLab has them.

    `status_reason` is our own: who canceled it, and why.
    """

    before_sha: str
    tag: bool
    yaml_errors: str | None
    config_source: str | None
    failure_reason: str | None
    status_reason: str | None
    user: PersonResponse | None
    started_at: str | None
    finished_at: str | None
    committed_at: str | None
    duration: int | None
    queued_duration: float | None
    coverage: str | None


def page_of(row: ShownPipeline, full_path: str) -> str:
    """Path of a pipeline's page."""
    return f"/{full_path}/-/pipelines/{row.id}"


def brief(row: ShownPipeline, full_path: str, url: str) -> PipelineResponse:
    """A pipeline as an item of a list and inside a job."""
    return {
        "id": row.id,
        "iid": row.iid,
        "project_id": row.project_id,
        "sha": row.sha,
        "ref": row.ref,
        "status": row.status,
        "source": row.source,
        "created_at": moment(row.created_at),
        "updated_at": moment(row.updated_at),
        "web_url": url + page_of(row, full_path),
        "name": row.name or None,
    }


def listed_pipeline(row: ShownPipeline, full_path: str, url: str) -> ListedPipelineResponse:
    """A pipeline in a list of pipelines."""
    status = detailed_status(shown_whole(row), page_of(row, full_path))
    return {**brief(row, full_path, url), "detailed_status": status}


def pipeline(
    row: PipelineRow,
    user: Person | None,
    full_path: str,
    url: str,
    now: datetime,
    *,
    coverage: str | None = None,
) -> PipelineDetailsResponse:
    """A pipeline in full."""
    lasted = span(row.started_at, row.finished_at or now) if row.duration is None else row.duration
    return {
        **listed_pipeline(row, full_path, url),
        "before_sha": row.before_sha,
        "tag": row.tag,
        "yaml_errors": row.yaml_errors or None,
        "config_source": row.config_source or None,
        "failure_reason": row.failure_reason or None,
        "status_reason": row.status_reason or None,
        "user": None if user is None else person(user, url),
        "started_at": moment(row.started_at),
        "finished_at": moment(row.finished_at),
        "committed_at": None,
        "duration": None if lasted is None else int(lasted),
        "queued_duration": span(row.created_at, row.started_at),
        "coverage": coverage,
    }
