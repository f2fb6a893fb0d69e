"""What each route is called with: the values of its parameters, and a body that is good."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

import orjson

_PARAMETER: Final = re.compile(r"\{(\w+)(?::\w+)?\}")


@dataclass(frozen=True, slots=True)
class Call:
    """A call; `path` and `body` may hold `{name}` for values of a side."""

    method: str
    path: str
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def content(self) -> bytes:
        """The body as it is sent."""
        if isinstance(self.body, bytes):
            return self.body
        return b"" if self.body is None else orjson.dumps(self.body)

    def filled(self, values: Mapping[str, str]) -> "Call":
        """The call with the values put in."""
        path = _PARAMETER.sub(lambda match: values[match[1]], self.path)
        return replace(self, path=path, body=_filled(self.body, values))


def _filled(body: Any, values: Mapping[str, str]) -> Any:
    if isinstance(body, dict):
        return {name: _filled(value, values) for name, value in body.items()}
    if isinstance(body, str) and (match := _PARAMETER.fullmatch(body)):
        found = values[match[1]]
        return int(found) if found.isdecimal() else found
    return body


_FLUSH: Final = b"0000"
_FORM: Final = {"content-type": "application/x-www-form-urlencoded"}
_SCHEDULE: Final = {"description": "x", "ref": "main", "cron": "0 1 * * *"}
_LEVEL: Final = {"access_level": 40}
_KEY: Final = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI" + "A" * 43
_UPLOAD: Final = (
    b'--b\r\nContent-Disposition: form-data; name="name"\r\n\r\nmore\r\n'
    b'--b\r\nContent-Disposition: form-data; name="file"; filename="f"\r\n\r\nx\r\n--b--\r\n'
)

PARAMETERS: Final[Mapping[str, Mapping[str, str]]] = {
    "": {
        "asset": "app",
        "key": "A",
        "kind": "gitlab_ci_ymls",
        "link_id": "1",
        "moved_project": "{project}",
        "name": "main",
        "place": "main/download?job=build",
        "shared_group_id": "{listed_group}",
        "slug": "gitea",
        "trigger": "pipeline_events",
        "tag": "v1",
        "token": "{personal_token}",
        "version": "none",
    },
    "/api/v4/projects/{project}/access_tokens": {"token_id": "{project_token}"},
    "/api/v4/groups/{group}/access_tokens": {"token_id": "{group_token}"},
    "/api/v4/users/{user_id}/impersonation_tokens": {"token_id": "{personal_token}"},
    "/-/profile/personal_access_tokens": {"token_id": "{personal_token}"},
    "/-/visits": {"pod": "0", "token_id": "{personal_token}"},
    "/api/v4/user/keys": {"key_id": "{ssh_key}"},
    "/api/v4/users/{user_id}/keys": {"key_id": "{ssh_key}"},
    "/api/v4/keys": {"key_id": "{ssh_key}"},
    "/api/v4/projects/{project}/deploy_tokens": {"token_id": "{deploy_token}"},
    "/api/v4/groups/{group}/badges": {"badge_id": "{group_badge}"},
    "/{path}/badges": {"ref": "main"},
    "/{path}/-/badges": {"ref": "main"},
    "/api/v4/groups/{group}/deploy_tokens": {"token_id": "{group_deploy_token}"},
    "/api/v4/projects/{project}/incoming_hooks": {"hook_id": "{incoming_id}"},
    "/api/v4/projects/{project}/protected_environments": {"name": "guarded"},
    "/api/v4/groups/{group}/protected_environments": {"name": "staging"},
    "/api/v4/projects/{project}/protected_tags": {"name": "v*"},
    "/api/v4/projects/{project}/ref": {"ref": "main"},
    "/api/hooks": {"hook_id": "{incoming_id}"},
    "/-/pods": {
        "bridge_id": "1",
        "project_id": "1",
        "upstream_id": "1",
        "home_id": "1",
        "user_id": "1",
        "pod_number": "1",
    },
    "/api/v4/groups/{group}/hooks": {"hook_id": "{group_hook}", "event_id": "{group_event}"},
    "/api/v4/hooks": {"hook_id": "{system_hook}", "event_id": "{system_event}", "trigger": "push_events"},
    "/api/v4/projects/{project}/repository": {
        "branch": "fix",
        "ending": "zip",
        "file_path": "README.md",
        "sha": "main",
    },
    "/api/v4/projects/{project}/repository/blobs": {"sha": "{blob_id}"},
    "/api/v4/projects/{project}/statuses": {"sha": "main"},
    "/api/v4/projects/{project}/resource_groups": {"key": "live"},
    "/api/v4/projects/{project}/jobs/{job_id}/artifacts/{path}": {"path": "out/a.txt"},
    "/api/v4/projects/{project}/jobs/{job_id}/play": {"job_id": "{manual_id}"},
    "/api/v4/projects/{project}/jobs/{job_id}/cancel": {"job_id": "{manual_id}"},
    "/api/v4/projects/{project}/job_token_scope/allowlist": {"target_id": "{listed_project}"},
    "/api/v4/projects/{project}/job_token_scope/groups_allowlist": {"target_id": "{listed_group}"},
    "/api/v4/projects/{project}/labels": {"label_id": "bug"},
    "/api/v4/groups/{group}/labels": {"label_id": "team"},
    "/api/v4/groups/{group}/milestones": {"milestone_id": "{group_milestone}"},
    "/api/v4/templates": {"key": "Auto-DevOps"},
    "/api/v4/projects/{project}/templates": {"key": "Auto-DevOps"},
    "/{path}/-/environments": {"folder": "review"},
    "/{path}/-/environments/{environment_id}/delete": {"environment_id": "{stopped_id}"},
    "/{path}/-/archive": {"place": "main/x-main.zip"},
    "/{path}/-/blob": {"place": "main/README.md"},
    "/{path}/-/raw": {"place": "main/README.md"},
    "/{path}/-/commit": {"sha": "main"},
    "/{path}/-/commits": {"ref": "main"},
    "/{path}/-/compare": {"range": "main...fix"},
    "/{path}/-/tree": {"place": "main"},
    "/{path}/-/merge_requests/{iid}/leave_train": {"iid": "{riding_iid}"},
    "/{path}/-/jobs/{job_id}/log/search": {"q": "x"},
    "/{path}/-/settings/integrations": {"slug": "slack"},
    "/-/unsubscribe": {"project_id": "{project}", "token": "{unsubscribe}"},
    "/{path}/-/jobs/{job_id}/play": {"job_id": "{manual_id}"},
    "/{path}/-/jobs/artifacts": {"place": "main/browse?job=build"},
    "/{path}/-/jobs/{job_id}/artifacts": {"file": "out/a.txt", "folder": "out", "ticket": "none"},
    "/{path}/-/jobs/{job_id}/cancel": {"job_id": "{manual_id}"},
    "GET /api/v4/projects/{project}/merge_trains": {"iid": "{riding_iid}", "branch": "main"},
    "DELETE /api/v4/projects/{project}/merge_trains": {"iid": "{riding_iid}"},
    "DELETE /api/v4/projects/{project}/environments": {"environment_id": "{stopped_id}"},
    "PUT /api/v4/projects/{project}/deployments": {"deployment_id": "{reported_id}"},
    "DELETE /api/v4/projects/{project}/deployments": {"deployment_id": "{reported_id}"},
}
"""By the beginning of a route, with its method or without: what its parameters are, where that is no value of the same
name; the longest wins."""

BODIES: Final[Mapping[str, Any]] = {
    "POST /api/v4/users": {"username": "new", "name": "New", "email": "new@example.com"},
    "PUT /api/v4/users/{user_id}": {"name": "New"},
    "POST /api/v4/projects/{project}/protected_branches": {"name": "more"},
    "PATCH /api/v4/projects/{project}/protected_branches/{name}": {"allow_force_push": True},
    "POST /api/v4/projects/{project}/protected_environments": {"name": "more", "deploy_access_levels": [_LEVEL]},
    "PUT /api/v4/projects/{project}/protected_environments/{name}": {"deploy_access_levels": [_LEVEL]},
    "POST /api/v4/groups/{group}/protected_environments": {"name": "testing", "deploy_access_levels": [_LEVEL]},
    "PUT /api/v4/groups/{group}/protected_environments/{name}": {"deploy_access_levels": [_LEVEL]},
    "POST /api/v4/projects/{project}/protected_tags": {"name": "more"},
    "PATCH /api/v4/projects/{project}/protected_tags/{name}": {"create_access_level": 30},
    **{
        f"{verb} /api/v4{place}/hooks{rest}": body
        for place in ("/projects/{project}", "/groups/{group}", "")
        for verb, rest, body in (
            ("POST", "", {"url": "https://hook.example/"}),
            ("PUT", "/{hook_id}", {"name": "new"}),
            ("PUT", "/{hook_id}/custom_headers/{key}", {"value": "1"}),
            ("PUT", "/{hook_id}/url_variables/{key}", {"value": "1"}),
        )
    },
    "PUT /api/v4/projects/{project}/integrations/{slug}": {"context_prefix": "ours"},
    **{
        f"PUT /api/v4/projects/{{project}}/integrations/{slug}": {"webhook": "https://chat.example/hook"}
        for slug in ("slack", "mattermost")
    },
    "PUT /api/v4/projects/{project}/integrations/pipelines-email": {"recipients": "team@example.com"},
    **{
        f"PUT /api/v4{place}/notification_settings": {"level": "watch"}
        for place in ("", "/projects/{project}", "/groups/{group}")
    },
    "POST /-/profile/notifications": b"level=watch",
    "POST /{path}/-/settings/integrations/{slug}": b"webhook=https%3A%2F%2Fchat.example%2Fhook",
    "POST /api/v4/projects/{project}/variables": {"key": "B", "value": "1"},
    "PUT /api/v4/projects/{project}/variables/{key}": {"value": "2"},
    "POST /api/v4/groups/{group}/variables": {"key": "B", "value": "1"},
    "PUT /api/v4/groups/{group}/variables/{key}": {"value": "2"},
    "POST /api/v4/admin/ci/variables": {"key": "B", "value": "1"},
    "PUT /api/v4/admin/ci/variables/{key}": {"value": "2"},
    "POST /api/v4/users/{user_id}/personal_access_tokens": {"name": "x", "scopes": ["api"]},
    "POST /api/v4/users/{user_id}/impersonation_tokens": {"name": "x", "scopes": ["api"]},
    "POST /api/v4/user/personal_access_tokens": {"name": "x", "scopes": ["api"]},
    "POST /-/profile/personal_access_tokens": b"name=x&scopes=read_user",
    "POST /-/visits/{pod}/personal_access_tokens": b"name=x&scopes=read_user",
    "POST /api/v4/user/keys": {"title": "x", "key": _KEY},
    "POST /api/v4/users/{user_id}/keys": {"title": "x", "key": _KEY},
    "POST /api/v4/projects/{project}/access_tokens": {"name": "x", "scopes": ["api"], "access_level": 10},
    "POST /api/v4/groups/{group}/access_tokens": {"name": "x", "scopes": ["api"], "access_level": 10},
    "POST /api/v4/projects/{project}/deploy_tokens": {"name": "x", "scopes": ["read_repository"]},
    "POST /api/v4/groups/{group}/deploy_tokens": {"name": "x", "scopes": ["read_repository"]},
    **{
        f"{verb} /api/v4/{place}/{rest}": {"link_url": "https://a.example/b", "image_url": "https://a.example/c"}
        for place in ("projects/{project}", "groups/{group}")
        for verb, rest in (("POST", "badges"), ("PUT", "badges/{badge_id}"))
    },
    "POST /api/v4/projects": {"name": "fresh", "namespace_id": "{group}"},
    "PUT /api/v4/projects/{project}": {"description": "new"},
    "POST /api/v4/projects/{project}/share": {"group_id": "{listed_group}", "group_access": 10},
    "PUT /api/v4/projects/{project}/transfer": {"namespace": "{listed_group}"},
    "POST /api/v4/markdown": {"text": "x"},
    "POST /{path}/-/merge_requests": {"merge_request": {"source_branch": "fix", "target_branch": "main", "title": "x"}},
    "POST /{path}/-/merge_requests/{iid}": {"merge_request": {"title": "new"}},
    "POST /{path}/-/merge_requests/{iid}/notes": {"body": "x"},
    "POST /{path}/-/merge_requests/{iid}/discussions/{discussion_id}/resolve": {"resolved": True},
    "PUT /api/v4/application/settings": {"max_artifacts_size": 100},
    "POST /api/v4/projects/{project}/members": {"user_id": 1, "access_level": 10},
    "PUT /api/v4/projects/{project}/members/{user_id}": {"access_level": 20},
    "POST /api/v4/groups/{group}/members": {"user_id": 1, "access_level": 10},
    "PUT /api/v4/groups/{group}/members/{user_id}": {"access_level": 20},
    "POST /api/v4/groups": {"name": "within", "path": "within", "parent_id": "{group}"},
    "POST /api/v4/organizations": {"name": "fresh", "path": "fresh"},
    "PUT /api/v4/groups/{group}": {"description": "new"},
    "POST /api/v4/projects/{project}/pipeline": {"ref": "main"},
    "POST /api/v4/projects/{project}/pipeline_schedules": _SCHEDULE,
    "POST /{path}/-/environments": b"name=another",
    "POST /{path}/-/pipeline_schedules": _SCHEDULE,
    "POST /{path}/-/pipeline_schedules/{schedule_id}": _SCHEDULE,
    "PUT /api/v4/projects/{project}/pipeline_schedules/{schedule_id}": {"description": "new"},
    "POST /api/v4/projects/{project}/pipeline_schedules/{schedule_id}/variables": {"key": "B", "value": "1"},
    "PUT /api/v4/projects/{project}/pipeline_schedules/{schedule_id}/variables/{key}": {"value": "2"},
    "POST /api/v4/projects/{project}/incoming_hooks": {"forge": "gitea"},
    "PATCH /api/v4/projects/{project}/job_token_scope": {"enabled": False},
    "POST /api/v4/projects/{project}/job_token_scope/allowlist": {"target_project_id": "{upstream_project}"},
    "POST /api/v4/projects/{project}/job_token_scope/groups_allowlist": {"target_group_id": "{group}"},
    "POST /api/v4/projects/{project}/fork": {"path": "forked"},
    "PUT /api/v4/projects/{project}/mirror/pull": {"interval": 600},
    "POST /api/v4/projects/{project}/subscriptions": {"upstream_project": "{project}"},
    "POST /api/v4/projects/{project}/triggers": {"description": "more"},
    "PUT /api/v4/projects/{project}/triggers/{trigger_id}": {"description": "new"},
    "POST /api/v4/projects/{project}/trigger/pipeline": {"token": "glptt-wrong", "ref": "main"},
    "POST /api/v4/projects/{project}/ref/{ref}/trigger/pipeline": {"token": "glptt-wrong"},
    "POST /api/v4/projects/{project}/merge_requests": {"source_branch": "fix", "target_branch": "main", "title": "Fix"},
    "PUT /api/v4/projects/{project}/merge_requests/{iid}": {"title": "Another title"},
    **{
        f"{verb} /api/v4/{place}/{rest}": body
        for place in ("projects/{project}", "groups/{group}")
        for verb, rest, body in (
            ("POST", "labels", {"name": "more", "color": "#ff0000"}),
            ("PUT", "labels", {"name": "bug" if "project" in place else "team", "color": "#ff0000"}),
            ("PUT", "labels/{label_id}", {"color": "#ff0000"}),
            ("POST", "milestones", {"title": "more"}),
            ("PUT", "milestones/{milestone_id}", {"state_event": "close"}),
        )
    },
    "POST /api/v4/projects/{project}/approvals": {"approvals_before_merge": 1},
    "POST /api/v4/projects/{project}/approval_rules": {"name": "All Members", "approvals_required": 1},
    "PUT /api/v4/projects/{project}/approval_rules/{rule_id}": {"approvals_required": 1},
    "POST /api/v4/projects/{project}/merge_requests/{iid}/notes": {"body": "x"},
    "PUT /api/v4/projects/{project}/merge_requests/{iid}/notes/{note_id}": {"body": "x"},
    "POST /api/v4/projects/{project}/merge_requests/{iid}/discussions": {"body": "x"},
    "PUT /api/v4/projects/{project}/merge_requests/{iid}/discussions/{discussion_id}": {"resolved": True},
    "POST /api/v4/projects/{project}/merge_requests/{iid}/discussions/{discussion_id}/notes": {"body": "x"},
    "PUT /api/v4/projects/{project}/merge_requests/{iid}/discussions/{discussion_id}/notes/{note_id}": {"body": "x"},
    "POST /api/v4/projects/{project}/ci/lint": {"content": "a: {script: x}"},
    "PUT /api/v4/projects/{project}/resource_groups/{key}": {"process_mode": "oldest_first"},
    "POST /api/v4/projects/{project}/environments": {"name": "more"},
    "PUT /api/v4/projects/{project}/environments/{environment_id}": {"tier": "other"},
    "POST /api/v4/projects/{project}/deployments": {
        "environment": "trial",
        "sha": "main",
        "ref": "main",
        "tag": False,
        "status": "success",
    },
    "PUT /api/v4/projects/{project}/deployments/{deployment_id}": {"status": "success"},
    "POST /api/v4/projects/{project}/repository/branches": {"branch": "more", "ref": "main"},
    "POST /api/v4/projects/{project}/repository/tags": {"tag_name": "more", "ref": "main"},
    "POST /api/v4/projects/{project}/repository/commits": {
        "branch": "main",
        "commit_message": "Words",
        "actions": [{"action": "create", "file_path": "more", "content": "x"}],
    },
    "POST /api/v4/projects/{project}/repository/commits/{sha}/comments": {"note": "x"},
    "POST /api/v4/projects/{project}/repository/commits/{sha}/cherry_pick": {"branch": "older", "dry_run": True},
    "POST /api/v4/projects/{project}/repository/commits/{sha}/revert": {"branch": "main"},
    "POST /api/v4/projects/{project}/repository/files/{file_path}": {
        "branch": "older",
        "commit_message": "Words",
        "content": "x",
    },
    "PUT /api/v4/projects/{project}/repository/files/{file_path}": {
        "branch": "main",
        "commit_message": "Words",
        "content": "x",
    },
    "POST /api/v4/projects/{project}/statuses/{sha}": {"state": "success"},
    "POST /api/v4/projects/{project}/releases": {"tag_name": "w2", "ref": "main", "description": "x"},
    "PUT /api/v4/projects/{project}/releases/{tag}": {"name": "new"},
    "POST /api/v4/projects/{project}/releases/{tag}/assets/links": {"name": "b", "url": "https://files.example/b"},
    "PUT /api/v4/projects/{project}/releases/{tag}/assets/links/{link_id}": {"link_type": "package"},
    "POST /api/v4/projects/{project}/secure_files": _UPLOAD,
    "POST /api/v4/projects/{project}/uploads": _UPLOAD,
    "POST /api/v4/user/runners": {"runner_type": "project_type", "project_id": "{project}"},
    "POST /api/v4/projects/{project}/runners": {"runner_id": "{runner_id}"},
    "PUT /api/v4/runners/{runner_id}": {"paused": True},
}
"""By method and route: a body that whoever may call it gets a good answer for."""

QUERIES: Final[Mapping[str, str]] = {
    "GET /{path}.git/info/refs": "service=git-upload-pack",
    "GET /api/v4/search": "scope=users&search=x",
    "GET /api/v4/groups/{group}/search": "scope=users&search=x",
    "GET /api/v4/projects/{project}/search": "scope=users&search=x",
    "GET /api/v4/projects/{project}/badges/render": "link_url=https://a.example/b&image_url=https://a.example/b",
    "GET /api/v4/groups/{group}/badges/render": "link_url=https://a.example/b&image_url=https://a.example/b",
    "GET /api/v4/projects/{project}/figures/days": "name=build",
    "GET /api/v4/keys": "fingerprint=SHA256:none",
    "GET /api/v4/projects/{project}/repository/compare": "from=main&to=fix",
    "GET /api/v4/projects/{project}/repository/files/{file_path}": "ref=main",
    "GET /api/v4/projects/{project}/repository/files/{file_path}/blame": "ref=main",
    "DELETE /api/v4/projects/{project}/repository/files/{file_path}": "branch=main&commit_message=Words",
    "GET /api/v4/projects/{project}/repository/merge_base": "refs[]=main&refs[]=fix",
}

HEADERS: Final[Mapping[str, Mapping[str, str]]] = {
    "POST /{path}/-/pipelines": _FORM,
    "POST /{path}/-/environments": _FORM,
    "POST /users/sign_in": _FORM,
    "POST /-/profile/password": _FORM,
    "POST /-/profile/personal_access_tokens": _FORM,
    "POST /-/visits/{pod}/personal_access_tokens": _FORM,
    "POST /-/profile/notifications": _FORM,
    "POST /{path}/-/settings/integrations/{slug}": _FORM,
    "POST /jwt/auth": _FORM,
    "POST /api/v4/projects/{project}/secure_files": {"content-type": "multipart/form-data; boundary=b"},
    "POST /api/v4/projects/{project}/uploads": {"content-type": "multipart/form-data; boundary=b"},
}


def call_of(method: str, route: str) -> Call:
    """The call of a route."""
    plain = re.sub(r"\{(\w+):\w+\}", r"{\1}", route)
    known: dict[str, str] = {}
    for prefix in sorted(PARAMETERS, key=len):
        if plain.startswith(prefix) or f"{method} {plain}".startswith(prefix):
            known |= PARAMETERS[prefix]
    path = _PARAMETER.sub(lambda match: known.get(match[1], match[0]), plain)
    name = f"{method} {plain}"
    if name in QUERIES:
        path += f"?{QUERIES[name]}"
    body = BODIES.get(name)
    if body is None and method in {"POST", "PUT", "PATCH"}:
        body = _FLUSH if ".git/" in plain else {}
    return Call(method, path, body, HEADERS.get(name, {}))
