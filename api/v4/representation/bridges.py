"""Trigger jobs as GitLab's JSON."""

from typing import NotRequired

from api.v4.representation.jobs import AnyJobResponse, JobResponse
from api.v4.representation.pipelines import PipelineResponse, brief
from application.bridges.downstream_pipelines import Related


class _StandingPart(AnyJobResponse):
    source: str
    archived: bool
    attempt: int
    retried: bool
    manual_confirmation: str | None
    failure_reason: NotRequired[str | None]
    failure_text: NotRequired[str | None]


class BridgeResponse(_StandingPart):
    """A trigger job: without what only a job has that a runner takes, and with what it has triggered."""

    downstream_pipeline: PipelineResponse | None


def bridge(job: JobResponse, downstream: Related | None, url: str) -> BridgeResponse:
    """A trigger job; `job` is its document as a job, `downstream` what the caller may see of its pipeline."""
    document: _StandingPart = {
        "id": job["id"],
        "status": job["status"],
        "stage": job["stage"],
        "name": job["name"],
        "ref": job["ref"],
        "tag": job["tag"],
        "coverage": job["coverage"],
        "allow_failure": job["allow_failure"],
        "created_at": job["created_at"],
        "started_at": job["started_at"],
        "finished_at": job["finished_at"],
        "erased_at": job["erased_at"],
        "duration": job["duration"],
        "queued_duration": job["queued_duration"],
        "user": job["user"],
        "commit": job["commit"],
        "pipeline": job["pipeline"],
        "web_url": job["web_url"],
        "project": job["project"],
        "source": job["source"],
        "archived": job["archived"],
        "attempt": job["attempt"],
        "retried": job["retried"],
        "manual_confirmation": job["manual_confirmation"],
    }
    if "failure_reason" in job:
        document["failure_reason"] = job["failure_reason"]
    if "failure_text" in job:
        document["failure_text"] = job["failure_text"]
    shown = None if downstream is None else brief(downstream.row, downstream.full_path, url)
    return {**document, "downstream_pipeline": shown}
