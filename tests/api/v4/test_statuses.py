"""Clients tell cases apart by the status and the shape of a refusal: each is what GitLab's own source gives."""

from typing import Any, Final, NamedTuple

import pytest

from tests.api.v4.site import Site

TEXT: Final = object()
"""The message is a text, and the same stands under `error`, where GitLab has it alone."""


class Refusal(NamedTuple):
    """A call that is refused: the status, and where its words are: a field, a text of these words, or `TEXT`."""

    call: str
    body: dict[str, Any]
    status: int
    where: object


_KEY: Final = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI" + "A" * 43
BEFORE: Final[tuple[tuple[str, dict[str, Any]], ...]] = (
    ("POST {project}/variables", {"key": "TWICE", "value": "x", "environment_scope": "dev"}),
    ("POST {project}/variables", {"key": "TWICE", "value": "x", "environment_scope": "prod"}),
    ("POST /groups", {"name": "taken", "path": "taken"}),
    ("POST /projects", {"name": "taken", "path": "taken"}),
    ("POST {project}/environments", {"name": "taken"}),
    ("POST {project}/labels", {"name": "taken", "color": "red"}),
    ("POST {project}/milestones", {"title": "taken"}),
    ("POST {project}/protected_branches", {"name": "taken"}),
    ("POST {project}/protected_tags", {"name": "taken"}),
    ("POST {project}/repository/branches", {"branch": "taken", "ref": "main"}),
    ("POST {project}/repository/tags", {"tag_name": "used", "ref": "main"}),
    ("POST {project}/releases", {"tag_name": "used"}),
    ("POST {project}/releases/used/assets/links", {"name": "taken", "url": "https://a.example/1"}),
    ("POST /users", {"username": "ada", "name": "Ada", "email": "ada@example.com"}),
    ("POST {project}/members", {"user_id": "ada", "access_level": 30}),
    ("POST /user/keys", {"title": "taken", "key": _KEY}),
)
"""What is there already."""
NEW: Final = {"name": "New", "email": "new@example.com"}
REFUSALS: Final = (
    Refusal("GET {project}/variables/TWICE", {}, 409, "There are multiple variables with provided parameters."),
    Refusal("PUT {project}/variables/TWICE", {"value": "y"}, 409, "There are multiple variables"),
    Refusal("DELETE {project}/variables/TWICE", {}, 409, "There are multiple variables"),
    Refusal("POST {project}/variables", {"key": "TWICE", "value": "", "environment_scope": "dev"}, 400, ["key"]),
    Refusal("POST {project}/variables", {"key": "A B", "value": ""}, 400, ["key"]),
    Refusal("POST {project}/variables", {"key": "A", "value": "x y", "masked": True}, 400, ["value"]),
    Refusal("POST {project}/variables", {"value": ""}, 400, TEXT),
    Refusal("POST {project}/hooks", {"url": "nope"}, 422, TEXT),
    Refusal("POST {project}/hooks", {}, 400, TEXT),
    Refusal("POST {project}/hooks", {"url": "https://{x}.example"}, 422, TEXT),
    Refusal(
        "POST {project}/hooks",
        {"url": "https://a.example", "branch_filter_strategy": "regex", "push_events_branch_filter": "("},
        422,
        TEXT,
    ),
    Refusal(
        "POST {project}/hooks",
        {"url": "https://a.example", "custom_headers": [{"key": "A B", "value": "x"}]},
        422,
        TEXT,
    ),
    Refusal("POST /groups", {"name": "other", "path": "taken"}, 400, ["path"]),
    Refusal("POST /groups", {"name": "other", "path": "a b"}, 400, ["path"]),
    Refusal("POST /groups", {}, 400, TEXT),
    Refusal("POST /projects", {"name": "taken", "path": "taken"}, 400, ["path"]),
    Refusal("POST /projects", {"path": "a b"}, 400, ["path"]),
    Refusal("POST /projects", {"name": "n" * 256}, 400, ["name"]),
    Refusal("POST /projects", {"name": "n", "ci_config_path": "/x"}, 400, ["ci_config_path"]),
    Refusal("POST /projects", {"name": "n", "visibility": "secret"}, 400, TEXT),
    Refusal("POST /projects", {}, 400, TEXT),
    Refusal("PUT {project}", {"default_branch": "none"}, 400, ["base"]),
    Refusal("POST {project}/environments", {"name": "taken"}, 400, ["name"]),
    Refusal("POST {project}/environments", {"name": "a?"}, 400, ["name"]),
    Refusal("POST {project}/environments", {"name": "x", "external_url": "javascript:x"}, 400, ["external_url"]),
    Refusal("POST {project}/labels", {"name": "taken", "color": "red"}, 409, "Label already exists"),
    Refusal("POST {project}/labels", {"name": "x", "color": "no"}, 400, ["color"]),
    Refusal("POST {project}/milestones", {"title": "taken"}, 400, ["title"]),
    Refusal("POST {project}/protected_branches", {"name": "taken"}, 409, "Protected branch 'taken' already exists"),
    Refusal("POST {project}/protected_tags", {"name": "taken"}, 422, TEXT),
    Refusal("POST {project}/repository/branches", {"branch": "taken", "ref": "main"}, 400, "Branch already exists"),
    Refusal("POST {project}/repository/branches", {"branch": "new", "ref": "no"}, 400, "Invalid reference name: no"),
    Refusal("POST {project}/repository/tags", {"tag_name": "used", "ref": "main"}, 400, "Tag used already exists"),
    Refusal("POST {project}/releases", {"tag_name": "used"}, 409, "Release already exists"),
    Refusal("POST {project}/releases", {"tag_name": "none", "description": "d"}, 422, TEXT),
    Refusal("POST /users", {"username": "root", **NEW}, 409, "Username has already been taken"),
    Refusal("POST /users", {"username": "ada", **NEW}, 409, "Username has already been taken"),
    Refusal("POST /users", {**NEW, "username": "x", "email": "ADA@example.com"}, 409, "Email has already been taken"),
    Refusal("POST /users", {**NEW, "username": "x", "email": "no"}, 400, ["email"]),
    Refusal("POST /users", {**NEW, "username": "x", "password": "short"}, 400, ["password"]),
    Refusal("POST {project}/members", {"user_id": "ada", "access_level": 30}, 409, "Member already exists"),
    Refusal("POST /user/keys", {"title": "taken", "key": _KEY}, 400, ["fingerprint_sha256"]),
    Refusal("POST {project}/pipeline_schedules", {"description": "d", "ref": "main", "cron": "no"}, 400, ["cron"]),
    Refusal(
        "POST {project}/merge_requests",
        {"source_branch": "main", "target_branch": "main", "title": "t"},
        422,
        "You can't use same project/branch for source and target",
    ),
    Refusal("POST {project}/badges", {"link_url": "x", "image_url": "https://a.example"}, 400, ["link_url"]),
)


@pytest.fixture
async def filled(site: Site) -> Site:
    """A project with a thing of each kind."""
    await site.commit({"README.md": "x\n"})
    async with site.client(site.root) as client:
        people: dict[str, int] = {}
        for call, body in BEFORE:
            method, _, path = call.partition(" ")
            values = {name: people.get(value, value) if name == "user_id" else value for name, value in body.items()}
            response = await client.request(method, address(site, path), json=values)
            assert response.status_code == 201, f"{call} {response.text}"
            if path == "/users":
                people[body["username"]] = response.json()["id"]
    return site


def address(site: Site, path: str) -> str:
    """Where a path of the table leads."""
    return f"/api/v4{path.replace('{project}', f'/projects/{site.world.project_id}')}"


async def test_refusals_have_gitlabs_status_and_say_which_field_is_meant(filled: Site) -> None:
    wrong = []
    async with filled.client(filled.root) as client:
        known = (await client.get("/api/v4/users", params={"username": "ada"})).json()[0]["id"]
        for call, body, status, where in REFUSALS:
            method, _, path = call.partition(" ")
            values = body | ({"user_id": known} if "user_id" in body else {})
            options: dict[str, Any] = {} if method in {"GET", "DELETE"} else {"json": values}
            response = await client.request(method, address(filled, path), **options)
            message = response.json()["message"] if response.content else None
            if (response.status_code, fits(response.json(), where)) != (status, True):
                wrong.append(f"{call} {body}: {response.status_code} {message}, expected {status} {where}")
    assert not wrong, "\n".join(wrong)


def fits(found: dict[str, Any], where: object) -> bool:
    """Whether a body has its words where they belong."""
    message = found["message"]
    if where is TEXT:
        return isinstance(message, str) and bool(found["error"])
    if isinstance(where, str):
        return isinstance(message, str) and where in message and "error" not in found
    return isinstance(message, dict) and list(message) == where and all(map(bool, message.values()))
