"""Each call that takes the name of a ref refuses one that a branch and a tag have; a full name means one of them."""

import re
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import pytest

from git.command import run
from tests.api.v4.site import Site, open_site
from tests.git.serving import git, new_commit

NAMES: Final = ("v1", "release/1.0")
"""The pair; the second is protected as a tag, so that a developer's branch must not be taken for it."""
WORDS: Final = "is the name of a branch and of a tag"
TRIGGER: Final = "trigger"
"""Stands for the token of a trigger."""
PROJECT: Final = "/projects/{project}"
REPOSITORY: Final = f"{PROJECT}/repository"
COMMIT: Final = f"{REPOSITORY}/commits/{{sha}}"
FILE: Final = f"{REPOSITORY}/files/{{file_path}}"


@dataclass(frozen=True)
class Door:
    """One name that one call takes: `?` stands for it in `path` (encoded), `query` and `body`."""

    call: str
    parameter: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    body: Mapping[str, Any] = field(default_factory=dict)


def _door(call: str, parameter: str, /, **body: Any) -> Door:
    """A door whose parameter is in the path if its pattern names it, else in the body, or the query of a GET."""
    method, pattern = call.split(" ")
    path = pattern.replace("{file_path}", "a").replace(f"{{{parameter}}}", "?").replace("{ending}", "zip")
    inside = path != pattern.replace("{file_path}", "a").replace("{ending}", "zip")
    given = {} if inside else {parameter: "?"}
    if method in {"GET", "HEAD"}:
        return Door(call, parameter, path, given | body)
    return Door(call, parameter, path, {}, given | body)


REFUSES: Final = [
    _door(f"GET {PROJECT}/pipelines/latest", "ref"),
    _door(f"POST {PROJECT}/pipeline", "ref"),
    _door(f"GET {PROJECT}/ci/lint", "content_ref"),
    _door(f"GET {PROJECT}/ci/lint", "dry_run_ref", dry_run="true"),
    _door(f"GET {PROJECT}/ci/lint", "sha"),
    _door(f"GET {PROJECT}/ci/lint", "ref", dry_run="true"),
    _door(f"POST {PROJECT}/ci/lint", "ref", content="j: {script: x}", dry_run=True),
    _door(f"POST {PROJECT}/pipeline_schedules", "ref", description="d", cron="0 1 * * *"),
    _door(f"POST {PROJECT}/deployments", "ref", sha="main", tag=False, status="success", environment="e"),
    _door(f"POST {PROJECT}/deployments", "sha", ref="main", tag=False, status="success", environment="e"),
    _door(f"GET {PROJECT}/search", "ref", scope="blobs", search="x"),
    _door(f"POST {REPOSITORY}/branches", "ref", branch="new"),
    _door(f"POST {REPOSITORY}/tags", "ref", tag_name="new"),
    _door(f"POST {PROJECT}/releases", "ref", tag_name="new", description="d"),
    _door(f"GET {REPOSITORY}/commits", "ref_name"),
    _door(f"GET {REPOSITORY}/compare", "from", to="main"),
    _door(f"GET {REPOSITORY}/compare", "to", **{"from": "main"}),
    _door(f"POST {REPOSITORY}/commits", "start_sha", branch="new", commit_message="m", actions=[]),
    _door(f"GET {REPOSITORY}/tree", "ref"),
    _door(f"GET {REPOSITORY}/contributors", "ref"),
    _door(f"GET {REPOSITORY}/archive", "sha"),
    _door(f"GET {REPOSITORY}/archive.{{ending}}", "sha"),
    _door(f"GET {FILE}", "ref"),
    _door(f"GET {FILE}/raw", "ref"),
    _door(f"GET {FILE}/blame", "ref"),
    _door(f"GET {COMMIT}", "sha"),
    _door(f"GET {COMMIT}/diff", "sha"),
    _door(f"GET {COMMIT}/refs", "sha"),
    _door(f"GET {COMMIT}/sequence", "sha"),
    _door(f"GET {COMMIT}/comments", "sha"),
    _door(f"GET {COMMIT}/merge_requests", "sha"),
    _door(f"POST {COMMIT}/comments", "sha", note="n"),
    _door(f"GET {COMMIT}/statuses", "sha"),
    _door(f"POST {COMMIT}/cherry_pick", "sha", branch="main"),
    _door(f"POST {COMMIT}/revert", "sha", branch="main"),
    _door(f"POST {PROJECT}/ref/{{ref}}/trigger/pipeline", "ref", token=TRIGGER),
    _door(f"POST {PROJECT}/trigger/pipeline", "ref", token=TRIGGER),
    Door("GET artifacts", "ref", f"{PROJECT}/jobs/artifacts/?/download", {"job": "j"}),
    Door("GET artifacts", "ref", f"{PROJECT}/jobs/artifacts/?/raw/a", {"job": "j"}),
]
"""Calls that must not choose between the two."""
_TAKES_NAME: Final = re.compile(
    "ref|sha|from|to|branch|branches|tag|(ref|tag)_name|(content|dry_run)_ref|start_sha|(default|source|start|target)_branch"
)
MEANS_ONE: Final = {
    "branch": "a branch, as the name of the parameter says",
    "branches": "a branch",
    "default_branch": "a branch",
    "source_branch": "a branch",
    "start_branch": "a branch",
    "target_branch": "a branch",
    "tag": "a tag, or whether a ref is one",
    "tag_name": "a tag",
    "GET /search ref": "is refused: only a project is searched at a ref",
    "GET /groups/{group}/search ref": "is refused",
    "POST /projects/{project}/merge_requests/{iid}/approve sha": "the head that was looked at, by its sha",
    "PUT /projects/{project}/merge_requests/{iid}/merge sha": "the head that was looked at",
    "POST /projects/{project}/merge_trains/merge_requests/{iid} sha": "the head that was looked at",
    "GET /projects/{project}/repository/blobs/{sha} sha": "an object by its sha",
    "GET /projects/{project}/repository/blobs/{sha}/raw sha": "an object by its sha",
    "POST /projects/{project}/statuses/{sha} sha": "a commit by its sha",
    "POST /projects/{project}/statuses/{sha} ref": "narrows the pipelines of one commit",
    "GET /projects/{project}/repository/commits/{sha}/statuses ref": "narrows the pipelines of one commit",
    "PUT /projects/{project}/pipeline_schedules/{schedule_id} ref": "is read as POST reads it",
}
"""Parameters that look like names of refs and cannot mean either, everywhere or in one call, and why."""


async def _name(site: Site, name: str) -> None:
    """Let a branch and a tag have a name, as only an installation of before has them."""
    repository = site.services.repositories.path(site.world.project_id)
    tree = site.folder / "tree"
    for kind in ("heads", "tags"):
        sha = await new_commit(tree, {"a": kind, ".gitlab-ci.yml": "j: {script: x}"}, kind)
        await git("push", "-q", repository, f"main:refs/kept/{sha}", cwd=tree)
        await run([f"--git-dir={repository}", "update-ref", f"refs/{kind}/{name}", sha])


@pytest.fixture
def database_url(sqlite_url: str) -> str:
    """One kind of database does: this is about git."""
    return sqlite_url


@pytest.fixture
async def site(tmp_path: Path, database_url: str) -> AsyncIterator[Site]:
    """A project whose branches and tags share names."""
    async with open_site(tmp_path, database_url) as opened:
        await opened.commit({"a": "main", ".gitlab-ci.yml": "j: {script: x}"})
        for name in NAMES:
            await _name(opened, name)
        async with opened.client(opened.root) as client:
            path = f"/api/v4/projects/{opened.world.project_id}/protected_tags"
            assert (await client.post(path, json={"name": "release/*"})).status_code == 201
        yield opened


async def _answer(site: Site, door: Door, name: str) -> tuple[int, str]:
    method = door.call.split(" ")[0]
    path = door.path.replace("{project}", str(site.world.project_id)).replace("?", quote(name, safe=""))
    query = {key: value.replace("?", name) for key, value in door.query.items()}
    body = {key: name if value == "?" else value for key, value in door.body.items()}
    async with site.client(site.root) as client:
        if body.get("token") == TRIGGER:
            triggers = f"/api/v4/projects/{site.world.project_id}/triggers"
            body["token"] = (await client.post(triggers, json={"description": "d"})).json()["token"]
        found = await client.request(method, f"/api/v4{path}", params=query, json=body or None)
    return found.status_code, found.text


@pytest.mark.parametrize("door", REFUSES, ids=lambda door: f"{door.call} {door.parameter}")
async def test_no_call_chooses_between_a_branch_and_a_tag(site: Site, door: Door) -> None:
    for name in NAMES:
        status, text = await _answer(site, door, name)
        assert (status, WORDS in text) == (400, True), (name, status, text)
    for name in [f"refs/{kind}/{name}" for name in NAMES for kind in ("heads", "tags")]:
        status, text = await _answer(site, door, name)
        assert (status < 500, WORDS in text) == (True, False), (name, status, text)


async def test_every_parameter_that_takes_a_name_is_known(site: Site) -> None:
    async with site.client() as client:
        document = (await client.get("/api/v4/openapi.json")).json()
    known = {f"{door.call} {door.parameter}" for door in REFUSES}
    found = {
        f"{method.upper()} {path.removeprefix('/api/v4')} {name}"
        for path, operations in document["paths"].items()
        for method, operation in operations.items()
        for name in _parameters(document, operation)
        if method != "head" and _TAKES_NAME.fullmatch(name) and name not in MEANS_ONE
    }
    assert sorted(found - known - MEANS_ONE.keys()) == []
    assert sorted(name for name in MEANS_ONE if " " in name and name not in found) == []


def _parameters(document: dict[str, Any], operation: dict[str, Any]) -> set[str]:
    """The names of what a call takes, wherever it stands."""
    content = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
    schema = content.get("schema", {})
    if "$ref" in schema:
        schema = document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    return {one["name"] for one in operation.get("parameters", [])} | set(schema.get("properties", {}))
