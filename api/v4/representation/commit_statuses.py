"""Results of a commit as GitLab's JSON: those of others, and the jobs of our own pipelines."""

from typing_extensions import TypedDict

from api.v4.representation.people import Person, PersonResponse, person
from domain.moments import moment
from models.rows.commit_statuses import CommitStatusRow
from models.rows.pipelines import JobFacts, PipelineRow


class CommitStatusResponse(TypedDict):
    """A result of a commit."""

    id: int
    sha: str
    ref: str
    status: str
    name: str
    target_url: str | None
    description: str | None
    created_at: str
    started_at: str | None
    finished_at: str | None
    allow_failure: bool
    coverage: float | None
    pipeline_id: int | None
    author: PersonResponse | None


def reported(row: CommitStatusRow, author: Person | None, url: str) -> CommitStatusResponse:
    """A result that was reported."""
    return {
        "id": row.id,
        "sha": row.sha,
        "ref": row.ref,
        "status": row.status,
        "name": row.name,
        "target_url": row.target_url,
        "description": row.description,
        "created_at": moment(row.created_at),
        "started_at": moment(row.started_at),
        "finished_at": moment(row.finished_at),
        "allow_failure": False,
        "coverage": row.coverage,
        "pipeline_id": row.pipeline_id,
        "author": None if author is None else person(author, url),
    }


def of_job(
    row: JobFacts, pipeline: PipelineRow, author: Person | None, full_path: str, url: str
) -> CommitStatusResponse:
    """A job of a pipeline of the commit."""
    return {
        "id": row.id,
        "sha": pipeline.sha,
        "ref": pipeline.ref,
        "status": row.status,
        "name": row.name,
        "target_url": f"{url}/{full_path}/-/jobs/{row.id}",
        "description": None,
        "created_at": moment(row.created_at),
        "started_at": moment(row.started_at),
        "finished_at": moment(row.finished_at),
        "allow_failure": row.allow_failure,
        "coverage": row.coverage,
        "pipeline_id": row.pipeline_id,
        "author": None if author is None else person(author, url),
    }
