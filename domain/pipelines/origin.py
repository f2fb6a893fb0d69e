"""What more is known of the event that made a pipeline: a document that is kept with it, and what is read from it.

It holds only what its source brings: `trigger_token` (the first characters of a trigger token), `upstream_job_id` (the
job that called with its token; a bridge stands in a column of its own), `upstream_project_id` and
`upstream_pipeline_id` (those of a bridge or job of another pod; those of this one stand in columns), `ancestors` and
`hierarchy` (what has led to the pipeline of such a job, `domain.pods.job_calls.CallingJob`), `external_pull_request`
(the fields of `ExternalPullRequestFacts`), `tag_message` (that of an annotated tag).
"""

from collections.abc import Mapping
from typing import Any, TypedDict

from domain.variables.predefined import ExternalPullRequestFacts


class OriginFacts(TypedDict):
    """Fields of `EventFacts`."""

    trigger_token: str
    tag_message: str
    upstream_job_id: int | None
    external_pull_request: ExternalPullRequestFacts | None


def origin_facts(origin: Mapping[str, Any], bridge_id: int | None) -> OriginFacts:
    """What the variables of a pipeline tell of its origin; `bridge_id` is the bridge that triggered it."""
    request = origin.get("external_pull_request")
    return {
        "trigger_token": origin.get("trigger_token", ""),
        "tag_message": origin.get("tag_message", ""),
        "upstream_job_id": bridge_id or origin.get("upstream_job_id"),
        "external_pull_request": ExternalPullRequestFacts(**request) if request else None,
    }
