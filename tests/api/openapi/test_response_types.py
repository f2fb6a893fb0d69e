"""Each route of the REST API that answers JSON declares a type of what it answers."""

from collections.abc import Iterator
from typing import Final

from fastapi.responses import RedirectResponse, StreamingResponse
from fastapi.utils import is_body_allowed_for_status_code

from api.openapi.document import has_type
from api.v4.router import router as rest

NO_JSON: Final = {
    "GET /api/v4/groups/{group}/issues": "there are no issues: its list is empty",
    "GET /api/v4/issues": "there are no issues: its list is empty",
    "GET /api/v4/license": "there is none: it answers 404",
    "GET /api/v4/projects/{project}/issues": "there are no issues: its list is empty",
    "GET /api/v4/projects/{project}/jobs/artifacts/{place:path}": "a file, or a redirect to one",
    "GET /api/v4/projects/{project}/jobs/{job_id}/artifacts": "a file, or a redirect to one",
    "GET /api/v4/projects/{project}/jobs/{job_id}/trace": "a text",
    "GET /api/v4/projects/{project}/merge_requests/{iid}/closes_issues": "there are no issues: its list is empty",
    "GET /api/v4/projects/{project}/merge_requests/{iid}/related_issues": "there are no issues: its list is empty",
    "GET /api/v4/projects/{project}/uploads/{secret}/{filename}": "a file",
    "GET /api/v4/projects/{project}/uploads/{upload_id}": "a file",
    "POST /api/v4/projects/{project}/issues": "there are no issues: it answers 403",
}
"""Why a route needs no type; those that answer without a body, lead elsewhere or stream are known by that."""


def untyped() -> Iterator[str]:
    """The routes without a type that may answer with a body: method and path."""
    for written in rest:
        route = written.made()
        other = route.endpoint.__annotations__.get("return") in {RedirectResponse, StreamingResponse}
        if has_type(route.response_model) or other or not is_body_allowed_for_status_code(route.status_code):
            continue
        yield from (f"{method} {route.path}" for method in set(written.methods) - {"HEAD"})


def test_each_route_that_answers_json_says_its_type() -> None:
    assert sorted(untyped()) == sorted(NO_JSON), "say what it answers by a TypedDict, or why it has none"
