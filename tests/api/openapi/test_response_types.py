"""Each route of the REST API that answers JSON declares a type of what it answers."""

from collections.abc import Iterator
from typing import Any, Final

from fastapi.responses import StreamingResponse
from fastapi.utils import is_body_allowed_for_status_code

from api.openapi.document import has_type
from api.v4.router import router as rest

NO_JSON: Final = {
    "GET /api/v4/license": "there is none: it answers 404",
}
"""Why a route needs no type; those that answer without a body, or stream one, are known by that."""

_TO_BE_DONE: Final = frozenset(
    """
    api.v4.environments.deployments
    api.v4.environments.environments
    api.v4.environments.protected_environments
    api.v4.installation.audit_events
    api.v4.installation.instance
    api.v4.installation.search
    api.v4.installation.templates
    api.v4.jobs.artifacts
    api.v4.jobs.job_token_scope
    api.v4.jobs.jobs
    api.v4.jobs.own_job
    api.v4.jobs.project_artifacts
    api.v4.jobs.trace_events
    api.v4.jobs.traces
    api.v4.merge_requests.approval_rules
    api.v4.merge_requests.approvals
    api.v4.merge_requests.contents
    api.v4.merge_requests.discussions
    api.v4.merge_requests.labels
    api.v4.merge_requests.merge_requests
    api.v4.merge_requests.merge_trains
    api.v4.merge_requests.merging
    api.v4.merge_requests.milestones
    api.v4.merge_requests.notes
    api.v4.merge_requests.people
    api.v4.merge_requests.reports
    api.v4.merge_requests.versions
    api.v4.pipelines.contents
    api.v4.pipelines.lint
    api.v4.pipelines.pipelines
    api.v4.pipelines.resource_groups
    api.v4.pipelines.schedule_variables
    api.v4.pipelines.schedules
    api.v4.pipelines.trigger_calls
    api.v4.pipelines.triggers
    api.v4.pipelines.variables
    api.v4.pipelines.why
    api.v4.releases.links
    api.v4.releases.releases
    api.v4.repositories.branches
    api.v4.repositories.commit_comments
    api.v4.repositories.commit_statuses
    api.v4.repositories.commit_writes
    api.v4.repositories.commits
    api.v4.repositories.files
    api.v4.repositories.protected_refs
    api.v4.repositories.tags
    api.v4.repositories.tree
    api.v4.runners.group_runners
    api.v4.runners.jobs
    api.v4.runners.project_runners
    api.v4.runners.runners
    api.v4.runners.user_runners
    """.split()
)
"""Modules whose routes have no types yet; the list only becomes shorter."""


def untyped() -> Iterator[tuple[str, Any]]:
    """The routes without a type that may answer with a body, by method and path."""
    for route in rest.routes:
        for context in route.effective_route_contexts():  # type: ignore[attr-defined]
            streams = context.endpoint.__annotations__.get("return") is StreamingResponse
            if has_type(context.response_model) or streams or not is_body_allowed_for_status_code(context.status_code):
                continue
            yield from ((f"{method} {context.path}", context.endpoint) for method in context.methods)


def test_each_route_that_answers_json_says_its_type() -> None:
    found = dict(untyped())
    left = {call for call, endpoint in found.items() if endpoint.__module__ not in _TO_BE_DONE}
    assert left - NO_JSON.keys() == set(), "say what it answers by a TypedDict, or why it has none"
    assert NO_JSON.keys() - found.keys() == set()
