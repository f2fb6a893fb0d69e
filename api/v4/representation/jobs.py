"""Jobs as GitLab's JSON, with fields of our own.

`attempt`, `exit_code` and `log_incomplete`; `manual_confirmation` is what to ask before it is played; `stuck_reason`
says why no runner can take a job that is `stuck`; `unresponsive` is true while the runner of a job is silent.
`failure_text` says of some failure reasons what they mean and what to do.
"""

from datetime import datetime
from typing import NotRequired

from typing_extensions import TypedDict

from api.v4.representation.people import PersonResponse, person
from api.v4.representation.pipelines import PipelineResponse, brief
from api.v4.representation.runners import RunnerManagerResponse, RunnerResponse, runner, runner_manager
from domain.moments import duration, moment, queued
from domain.pipelines.status import Status
from domain.pipelines.verdict import public_reason, reason_words
from domain.runners.status import Holds
from models.repositories.projects.relations import Relations, process_of
from models.repositories.queue.wait_reasons import Standings
from models.rows.artifacts import ArtifactRow
from models.rows.pipelines import ListedJobRow, PipelineRow


class JobCommitResponse(TypedDict):
    """The commit of a pipeline, as it was when the pipeline was made."""

    id: str
    short_id: str
    created_at: str | None
    title: str
    message: str
    author_name: str
    author_email: str
    authored_date: str | None
    web_url: str


class JobProjectResponse(TypedDict):
    """The project of a job; which one it is where jobs of many are listed."""

    ci_job_token_scope_enabled: bool
    id: NotRequired[int]
    name: NotRequired[str]
    path_with_namespace: NotRequired[str]


class JobArtifactResponse(TypedDict):
    """A file that a job has handed in."""

    file_type: str
    size: int
    filename: str
    file_format: str | None


class ArchiveFileResponse(TypedDict):
    """The archive of a job's artifacts."""

    filename: str
    size: int


class AnyJobResponse(TypedDict):
    """What jobs for runners and trigger jobs have in common."""

    id: int
    status: str
    stage: str
    name: str
    ref: str
    tag: bool
    coverage: float | None
    allow_failure: bool
    created_at: str
    started_at: str | None
    finished_at: str | None
    erased_at: str | None
    duration: float | None
    queued_duration: float | None
    user: PersonResponse | None
    commit: JobCommitResponse
    pipeline: PipelineResponse
    web_url: str
    project: JobProjectResponse


class JobResponse(AnyJobResponse):
    """One attempt of a job."""

    artifacts: list[JobArtifactResponse]
    artifacts_expire_at: str | None
    runner: RunnerResponse | None
    runner_manager: RunnerManagerResponse | None
    tag_list: list[str]
    source: str
    archived: bool
    attempt: int
    retried: bool
    exit_code: int | None
    log_incomplete: bool
    manual_confirmation: str | None
    stuck: bool
    stuck_reason: str | None
    unresponsive: bool
    artifacts_file: NotRequired[ArchiveFileResponse]
    failure_reason: NotRequired[str | None]
    failure_text: NotRequired[str | None]


def job(
    row: ListedJobRow, relations: Relations, standings: Standings, full_path: str, url: str, now: datetime
) -> JobResponse:
    """One attempt of a job; what it points to is in `relations`, what it waits for in `standings`."""
    stuck = standings.stuck.get(row.id)
    pipeline = relations.pipelines[row.pipeline_id]
    user = relations.users.get(row.user_id)
    holder = None if row.runner_id is None else relations.runners.get(row.runner_id)
    process = process_of(row)
    manager = relations.managers.get(process)
    kept = [_artifact(item) for item in relations.artifacts.get(row.id, ())]
    archive = next((item for item in relations.artifacts.get(row.id, ()) if item.file_type == "archive"), None)
    document: JobResponse = {
        "id": row.id,
        "status": row.status,
        "stage": row.stage_name,
        "name": row.name,
        "ref": pipeline.ref,
        "tag": pipeline.tag,
        "coverage": row.coverage,
        "allow_failure": row.allow_failure,
        "created_at": moment(row.created_at),
        "started_at": moment(row.started_at),
        "finished_at": moment(row.finished_at),
        "erased_at": moment(row.erased_at),
        "duration": duration(row, now),
        "queued_duration": queued(row, now),
        "user": None if user is None else person(user, url),
        "commit": commit(pipeline, full_path, url),
        "pipeline": brief(pipeline, full_path, url),
        "web_url": f"{url}/{full_path}/-/jobs/{row.id}",
        "project": {"ci_job_token_scope_enabled": True},
        "artifacts": kept,
        "artifacts_expire_at": moment(archive.expire_at) if archive is not None else None,
        "runner": None if holder is None else runner(holder, now, relations.holds(holder.id)),
        "runner_manager": None
        if manager is None
        else runner_manager(manager, now, relations.holding.get(process, Holds.NOTHING)),
        "tag_list": list(row.tags),
        "source": pipeline.source,
        "archived": False,
        "attempt": row.attempt,
        "retried": row.retried,
        "exit_code": row.exit_code,
        "log_incomplete": row.log_incomplete,
        "manual_confirmation": row.manual_confirmation,
        "stuck": stuck is not None,
        "stuck_reason": stuck,
        "unresponsive": row.id in standings.unresponsive,
    }
    if archive is not None:
        document["artifacts_file"] = {"filename": archive.filename, "size": archive.size}
    if row.status == Status.FAILED:
        document["failure_reason"] = public_reason(row.failure_reason)
        document["failure_text"] = reason_words(row.failure_reason) or None
    return document


def _artifact(row: ArtifactRow) -> JobArtifactResponse:
    return {
        "file_type": row.file_type,
        "size": row.size,
        "filename": row.filename,
        "file_format": row.file_format or None,
    }


def commit(pipeline: PipelineRow, full_path: str, url: str) -> JobCommitResponse:
    """The commit of a pipeline, as it was when the pipeline was made."""
    facts = pipeline.commit
    return {
        "id": pipeline.sha,
        "short_id": pipeline.sha[:8],
        "created_at": facts.get("timestamp"),
        "title": facts.get("title", ""),
        "message": facts.get("message", ""),
        "author_name": facts.get("author_name", ""),
        "author_email": facts.get("author_email", ""),
        "authored_date": facts.get("timestamp"),
        "web_url": f"{url}/{full_path}/-/commit/{pipeline.sha}",
    }
