"""A pipeline with its jobs as documents, and which pipeline an argument means."""

from typing import Any

from cli.remote.documents import PIPELINE_DETAILS, document
from cli.remote.invocation import Invocation
from domain.errors import Invalid, NotFound


def pipeline_of(call: Invocation, named: str) -> int:
    """The id that an argument means: an id, an address, or without one the newest of the ref that is checked out.

    A branch without pipelines of its own has those of its merge request. Raises `Invalid`, `NotFound`.
    """
    pasted = call.paste(named, "pipelines")
    if pasted is not None:
        return pasted
    if named.isascii() and named.isdigit():
        return int(named)
    if named:
        raise Invalid(f"{named!r} is no pipeline: give its number or address. `perdure pipeline list` shows them.")
    parameters = {"ref": call.ref} if call.ref else {}
    ref = f" of {call.ref}" if call.ref else ""
    with call.naming(f"pipeline{ref}", "perdure pipeline run"):
        try:
            return int(call.api.get(f"{call.home}/pipelines/latest", **parameters)["id"])
        except NotFound:
            if found := _of_merge_request(call):
                return found
            raise


def _of_merge_request(call: Invocation) -> int:
    """The newest pipeline of the open merge request from the branch that is checked out: its jobs may all be there.

    0 where there is none.
    """
    if not call.ref:
        return 0
    wanted = {"source_branch": call.ref, "state": "opened"}
    for one in call.api.listed(f"{call.home}/merge_requests", 1, **wanted):
        pipelines = call.api.listed(f"{call.home}/merge_requests/{one['iid']}/pipelines", 1)
        return int(pipelines[0]["id"]) if pipelines else 0
    return 0


def details_of(call: Invocation, pipeline_id: int) -> dict[str, Any]:
    """The document of a pipeline with its jobs. Raises `NotFound`."""
    with call.naming(f"pipeline {pipeline_id}", "perdure pipeline list"):
        pipeline = call.api.get(f"{call.home}/pipelines/{pipeline_id}")
    return document(PIPELINE_DETAILS, {**pipeline, "jobs": _jobs_of(call, pipeline_id)})


def _jobs_of(call: Invocation, pipeline_id: int) -> list[dict[str, Any]]:
    """The latest attempts as the server has them, in the order of the stages.

    Jobs get their numbers in that order, but an attempt has a later one: the first attempt's number counts.
    """
    home = f"{call.home}/pipelines/{pipeline_id}"
    found = call.api.listed(f"{home}/jobs", include_retried=True)
    found += call.api.listed(f"{home}/bridges")
    found.sort(key=lambda job: job["id"])
    stages: dict[str, int] = {}
    names: dict[str, int] = {}
    for job in found:
        stages.setdefault(job["stage"], job["id"])
        names.setdefault(job["name"], job["id"])
    latest = {job["name"]: job for job in found}
    return sorted(latest.values(), key=lambda job: (stages[job["stage"]], names[job["name"]]))


def job_id_of(call: Invocation, named: str, pipeline: str) -> int:
    """The id of a job that is named by id, address or name. Raises `NotFound`, `Invalid`."""
    pasted = call.paste(named, "jobs")
    if pasted is not None:
        return pasted
    if named.isascii() and named.isdigit() and not pipeline:
        return int(named)
    details = details_of(call, pipeline_of(call, pipeline))
    found = [job for job in details["jobs"] if job["name"] == named]
    if not found:
        names = ", ".join(job["name"] for job in details["jobs"][:10]) or "no job"
        raise NotFound(
            f"Pipeline {details['id']} has no job {named!r}; it has {names}. "
            f"Next: `perdure job list --pipeline {details['id']}`."
        )
    if len(found) > 1:
        raise Invalid(f"{named!r} is the name of jobs {', '.join(str(job['id']) for job in found)}; give a number.")
    return int(found[0]["id"])
