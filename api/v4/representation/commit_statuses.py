"""Results of a commit as GitLab's JSON: those of others, and the jobs of our own pipelines."""

from typing import Any

from api.v4.representation.people import person
from domain.moments import moment


def reported(row: Any, author: Any | None, url: str) -> dict[str, Any]:
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


def of_job(row: Any, pipeline: Any, author: Any | None, full_path: str, url: str) -> dict[str, Any]:
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
