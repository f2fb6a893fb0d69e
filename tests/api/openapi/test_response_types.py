"""Each route of the REST API that answers JSON declares a type of what it answers."""

from collections.abc import Iterator
from typing import Any, Final

from fastapi.responses import RedirectResponse, StreamingResponse
from fastapi.utils import is_body_allowed_for_status_code

from api.openapi.document import has_type
from api.v4.router import router as rest

NO_JSON: Final = {
    "GET /api/v4/license": "there is none: it answers 404",
    "GET /api/v4/projects/{project}/merge_requests/{iid}/closes_issues": "there are no issues: its list is empty",
    "GET /api/v4/projects/{project}/merge_requests/{iid}/related_issues": "there are no issues: its list is empty",
}
"""Why a route needs no type; those that answer without a body, lead elsewhere or stream are known by that."""

_TO_BE_DONE: Final = frozenset(
    """
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
    api.v4.merge_requests.contents
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
            other = context.endpoint.__annotations__.get("return") in {RedirectResponse, StreamingResponse}
            if has_type(context.response_model) or other or not is_body_allowed_for_status_code(context.status_code):
                continue
            methods = context.methods - {"HEAD"}
            yield from ((f"{method} {context.path}", context.endpoint) for method in methods)


def test_each_route_that_answers_json_says_its_type() -> None:
    found = dict(untyped())
    left = {call for call, endpoint in found.items() if endpoint.__module__ not in _TO_BE_DONE}
    assert left - NO_JSON.keys() == set(), "say what it answers by a TypedDict, or why it has none"
    assert NO_JSON.keys() - found.keys() == set()
