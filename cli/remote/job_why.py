"""Why a job is as it is, or is not in its pipeline."""

from typing import Any

from cli.remote.documents import REASON, document
from cli.remote.invocation import Invocation
from cli.remote.pipeline_jobs import job_id_of, pipeline_of
from domain.errors import NotFound


def why_of(call: Invocation, named: str, pipeline: str) -> dict[str, Any]:
    """What the server says of a job that is named by id, address or name; also of one that its pipeline left out.

    Raises `NotFound` for one that the configuration lacks, too.
    """
    try:
        job_id = job_id_of(call, named, pipeline)
    except NotFound:
        whole = call.api.get(f"{call.home}/pipelines/{pipeline_of(call, pipeline)}/why")
        absent = next((one for one in whole["absent"] if one["name"] == named), None)
        if absent is None:
            raise
        return document(REASON, absent)
    with call.naming(f"job {job_id}", "perdure job list"):
        return document(REASON, call.api.get(f"{call.home}/jobs/{job_id}/why"))
