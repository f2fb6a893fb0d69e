"""The calls of which the OpenAPI document shows an example: who makes them, and with what."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final


@dataclass(frozen=True, slots=True)
class Request:
    """A call by one of the place's people, or by `job`. `body` may hold `{name}` for values of the place.

    `values` are those of its path that are not the usual ones; `first` is posted before, so that it can be done.
    """

    method: str
    path: str
    who: str = "owner"
    query: Mapping[str, str] = field(default_factory=dict)
    body: Any = None
    values: Mapping[str, str] = field(default_factory=dict)
    first: str = ""

    @property
    def name(self) -> str:
        """Method and path."""
        return f"{self.method} /api/v4{self.path}"


_P: Final = "/projects/{project}"
_URL: Final = "https://hook.example.com/"


def _of_hooks() -> Iterator[Request]:
    """The same calls for the webhooks of a project, of a group and of the installation."""
    new = {"url": _URL, "name": "Chat", "token": "a secret of yours", "push_events": True}
    for place, who in ((_P, "maintainer"), ("/groups/{group}", "owner")):
        yield from _of_hook(f"{place}/hooks", who, {**new, "pipeline_events": True})
    yield from _of_hook("/hooks", "admin", new)
    yield Request("POST", "/hooks/{hook_id}", "admin")


def _of_hook(base: str, who: str, new: dict[str, Any]) -> Iterator[Request]:
    one = f"{base}/{{hook_id}}"
    yield Request("GET", base, who)
    yield Request("POST", base, who, body=new)
    yield Request("GET", one, who)
    yield Request("PUT", one, who, body={"name": "Chat of the team"})
    yield Request("DELETE", one, who)
    yield Request("GET", f"{one}/events", who, {"status": "successful"})
    yield Request("POST", f"{one}/events/{{event_id}}/resend", who)
    yield Request("POST", f"{one}/test/{{trigger}}", who)
    for pairs in ("custom_headers", "url_variables"):
        yield Request("PUT", f"{one}/{pairs}/{{key}}", who, body={"value": "kept sealed"})
        yield Request("DELETE", f"{one}/{pairs}/{{key}}", who)


def _of_gaps() -> Iterator[Request]:
    yield Request("GET", "/events", "admin", {"target_type": "merge_request", "after": "2020-01-31"})
    yield Request("GET", "/users/{user_id}/events", query={"sort": "asc"})
    yield Request("GET", f"{_P}/events", query={"target_type": "merge_request"})
    yield Request("GET", "/templates/{kind}")
    yield Request("GET", "/templates/{kind}/{key}")
    yield Request("GET", f"{_P}/templates/{{kind}}")
    yield Request("GET", f"{_P}/templates/{{kind}}/{{key}}")
    scope = f"{_P}/job_token_scope"
    yield Request("GET", "/job", "job")
    yield Request("GET", scope)
    yield Request("PATCH", scope, body={"enabled": False})
    yield Request("GET", f"{scope}/allowlist")
    yield Request("POST", f"{scope}/allowlist", body={"target_project_id": "{upstream_project}"})
    yield Request("DELETE", f"{scope}/allowlist/{{target_id}}")
    yield Request("GET", f"{scope}/groups_allowlist")
    yield Request("POST", f"{scope}/groups_allowlist", body={"target_group_id": "{group}"})
    yield Request("DELETE", f"{scope}/groups_allowlist/{{target_id}}")
    yield Request("GET", f"{_P}/search", query={"scope": "blobs", "search": "app", "ref": "main"})
    yield Request("GET", "/search", query={"scope": "projects", "search": "app"})
    linked = {"link_url": "https://ci.example.com/%{project_path}", "image_url": "https://ci.example.com/a.svg"}
    yield Request("POST", f"{_P}/badges", "maintainer", body=linked)
    yield Request("GET", f"{_P}/badges")
    comments = f"{_P}/repository/commits/{{sha}}/comments"
    yield Request("GET", comments)
    yield Request("POST", comments, body={"note": "Why?", "path": "README.md", "line": 1, "line_type": "new"})


def _of_projects() -> Iterator[Request]:
    yield Request("GET", "/projects", query={"search": "app"})
    yield Request("POST", "/projects", body={"name": "fresh", "namespace_id": "{group}", "visibility": "private"})
    yield Request("GET", _P)
    yield Request("PUT", _P, body={"description": "What it is for"})
    variable = {"key": "TOKEN", "value": "a-secret-value", "masked": True, "protected": True}
    yield Request("GET", f"{_P}/variables")
    yield Request("POST", f"{_P}/variables", body=variable)
    yield Request("GET", f"{_P}/variables/{{key}}")
    yield Request("PUT", f"{_P}/variables/{{key}}", body={"value": "another"})
    yield Request("DELETE", f"{_P}/variables/{{key}}")


def _of_pipelines() -> Iterator[Request]:
    given = [{"key": "LEVEL", "value": "3"}]
    yield Request("GET", f"{_P}/pipelines", query={"ref": "main", "status": "success"})
    yield Request("POST", f"{_P}/pipeline", body={"ref": "main", "variables": given})
    yield Request("GET", f"{_P}/pipelines/{{pipeline_id}}")
    yield Request("GET", f"{_P}/pipelines/{{pipeline_id}}/jobs")
    yield Request("GET", f"{_P}/pipelines/{{pipeline_id}}/variables")
    yield Request("GET", f"{_P}/pipelines/{{pipeline_id}}/test_report")
    yield Request("GET", f"{_P}/unit_tests/{{unit_test_id}}")
    open_one = {"pipeline_id": "{open_pipeline}"}
    pipeline = f"{_P}/pipelines/{{pipeline_id}}"
    yield Request("POST", f"{pipeline}/cancel", values=open_one)
    yield Request("POST", f"{pipeline}/retry", values=open_one, first=f"{pipeline}/cancel")
    yield Request("GET", f"{_P}/jobs", query={"scope[]": "success"})
    yield Request("GET", f"{_P}/jobs/{{job_id}}")
    yield Request("GET", f"{_P}/jobs/{{job_id}}/trace")
    yield Request("POST", f"{_P}/jobs/{{job_id}}/retry")
    yield Request("POST", f"{_P}/jobs/{{job_id}}/play", body={"job_variables_attributes": given})
    yield Request("POST", f"{_P}/jobs/{{job_id}}/cancel")


def _of_triggers() -> Iterator[Request]:
    yield Request("GET", f"{_P}/triggers")
    yield Request("POST", f"{_P}/triggers", body={"description": "The other service"})
    call = {"token": "{trigger_token}", "ref": "main", "variables": {"LEVEL": "3"}}
    yield Request("POST", f"{_P}/trigger/pipeline", "anonymous", body=call)
    schedules = f"{_P}/pipeline_schedules"
    nightly = {"description": "Nightly", "ref": "main", "cron": "0 1 * * *", "cron_timezone": "Europe/Berlin"}
    yield Request("GET", schedules)
    yield Request("POST", schedules, body=nightly)
    yield Request("GET", f"{schedules}/{{schedule_id}}")
    yield Request("PUT", f"{schedules}/{{schedule_id}}", "admin", body={"cron": "30 2 * * *"})
    yield Request("POST", f"{schedules}/{{schedule_id}}/play")


def _of_merge_requests() -> Iterator[Request]:
    requests = f"{_P}/merge_requests"
    new = {"source_branch": "fix", "target_branch": "main", "title": "Fix it", "labels": "bug"}
    yield Request("GET", requests, query={"state": "opened"})
    yield Request("POST", requests, body=new)
    yield Request("GET", f"{requests}/{{iid}}")
    yield Request("PUT", f"{requests}/{{iid}}", body={"title": "Draft: Fix it"})
    yield Request("PUT", f"{requests}/{{iid}}/merge", body={"should_remove_source_branch": True})
    yield Request("POST", f"{requests}/{{iid}}/approve")
    yield Request("GET", f"{requests}/{{iid}}/pipelines")


def _of_pods() -> Iterator[Request]:
    yield Request("GET", "/pod", "admin")
    yield Request("GET", "/pod/tag_sets", "admin")
    yield Request("GET", "/pod/queue", "admin")
    yield Request("GET", "/runners/queue", "admin")
    yield Request("GET", "/groups/{group}/tag_sets", query={"days": "30"})


REQUESTS: Final = (
    *_of_projects(),
    *_of_pipelines(),
    *_of_triggers(),
    *_of_merge_requests(),
    *_of_hooks(),
    *_of_gaps(),
    *_of_pods(),
)
