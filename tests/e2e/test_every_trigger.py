"""Everything that starts a pipeline, each by its real door of the real server: git, pages, API, signed bodies, ticks.

A runner says what each pipeline was: source, ref, whose it is and which variables its jobs are given.
"""

import asyncio
import hashlib
import hmac
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import orjson
import pytest

from rigs.ports import LOCAL
from tests.e2e.player import Player
from tests.forms import visit_first
from tests.git.serving import git
from tests.project import Project
from tests.server import SHORT_TIMES, Server, running_server
from tests.temporal import temporal_server
from tests.waiting import HANGS, eventually

pytestmark = pytest.mark.slow

CONFIG = """
workflow: {rules: [{when: always}]}
job: {script: make}
"""
HELD = "hold: {script: make}\n"
"""A job that the runner takes and does not end."""
PASSWORD = "correct-horse-battery"
FORGES = ("github", "gitea", "forgejo", "gitlab")
TICK_WITHIN = 90.0
"""Seconds to the next minute, and some."""

Told = Mapping[str, str]


@dataclass
class House:
    """A running server, its administrator, a maintainer named ada, and a runner that keeps what each job is told."""

    server: Server
    root: httpx.AsyncClient
    ada: httpx.AsyncClient
    folder: Path
    told: dict[int, Told] = field(default_factory=dict)
    held: dict[int, dict[str, Any]] = field(default_factory=dict)

    async def play(self, player: Player) -> None:
        """Be the runner until cancelled."""
        while True:
            job = await player.job_within(3600)
            known = {item["key"]: item["value"] for item in job["variables"]}
            self.told[int(known["CI_PIPELINE_ID"])] = known
            if job["job_info"]["name"] == "hold":
                self.held[int(known["CI_PIPELINE_ID"])] = job
            else:
                await player.finish(job)

    async def project(self, name: str, config: str | None = CONFIG, **settings: Any) -> Project:
        """A project of ada's with a pushed first commit, whose pipeline is over."""
        files = {"a.txt": name} if config is None else {".gitlab-ci.yml": config}
        project = await Project.create(self.ada, name, self.folder / name, files)
        if settings:
            changed = await self.ada.put(f"/api/v4/projects/{project.id}", json=settings)
            assert changed.status_code == 200, changed.text
        await git("push", "-q", "-o", "ci.skip", "origin", "main", cwd=project.tree)
        return project

    async def post(self, path: str, who: httpx.AsyncClient | None = None, **body: Any) -> Any:
        """Ask the API for something, as ada."""
        response = await (who or self.ada).post(f"/api/v4/{path}", json=body)
        assert response.is_success, response.text
        return response.json()

    async def pipeline(self, project: Project, source: str, within: float = 30.0, **also: Any) -> dict[str, Any]:
        """The pipeline of this source with these fields, as soon as there is one."""

        async def look() -> dict[str, Any] | None:
            found: list[dict[str, Any]] = await project.get(f"pipelines?source={source}&per_page=100")
            for item in found:
                if all(item[name] == value for name, value in also.items()):
                    return item
            return None

        return await eventually(look, f"project {project.id} has a pipeline with {source} and {also}", within)

    async def expect(self, project: Project, source: str, ref: str, found: dict[str, Any], **variables: str) -> Told:
        """A pipeline is of this source and ref, is ada's, and its jobs are told so; with `variables` too."""
        whole = await project.get(f"pipelines/{found['id']}")
        assert (whole["source"], whole["ref"], whole["user"]["username"]) == (source, ref, "ada")

        async def look() -> Told | None:
            return self.told.get(found["id"])

        told = await eventually(look, f"a job of pipeline {found['id']} has run", 30)
        expected = {"CI_PIPELINE_SOURCE": source, "CI_COMMIT_SHA": whole["sha"], "GITLAB_USER_LOGIN": "ada"}
        assert {name: told.get(name) for name in expected | variables} == expected | variables
        return told


@pytest.fixture(scope="module")
async def house(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[House]:
    """One server for all doors; each test has projects of its own."""
    folder = tmp_path_factory.mktemp("house")
    options = {**SHORT_TIMES, "outbound_networks": f"{LOCAL}/32"}
    async with (
        temporal_server(folder) as temporal,
        running_server(folder, temporal, **options) as server,
        server.client() as root,
        server.client() as ada,
        server.client() as anybody,
    ):
        new: dict[str, Any] = {"username": "ada", "name": "Ada", "email": "ada@example.com", "password": PASSWORD}
        made = (await root.post("/api/v4/users", json=new)).json()
        scopes = {"name": "t", "scopes": ["api", "write_repository"]}
        token = await root.post(f"/api/v4/users/{made['id']}/personal_access_tokens", json=scopes)
        ada.headers["private-token"] = token.json()["token"]
        player = Player(anybody, server.credentials["registration_token"])
        await player.register()
        opened = House(server, root, ada, folder)
        runner = asyncio.create_task(opened.play(player))
        try:
            yield opened
        finally:
            runner.cancel()
            with suppress(asyncio.CancelledError):
                await runner


async def test_a_push_of_a_branch_and_of_a_tag(house: House) -> None:
    project = await house.project("pushed")
    await git("commit", "-q", "--allow-empty", "-m", "Next", cwd=project.tree)
    await git("tag", "v1", cwd=project.tree)
    await git("push", "-q", "-o", "ci.variable=DEPTH=deep", "origin", "main", "v1", cwd=project.tree)
    for ref, kind in (("main", "CI_COMMIT_BRANCH"), ("v1", "CI_COMMIT_TAG")):
        found = await house.pipeline(project, "push", ref=ref, status="success")
        told = await house.expect(project, "push", ref, found, DEPTH="deep", **{kind: ref})
        assert len({"CI_COMMIT_BRANCH", "CI_COMMIT_TAG"} & told.keys()) == 1


async def test_a_commit_that_asks_for_none(house: House) -> None:
    project = await house.project("skipping")
    await git("commit", "-q", "--allow-empty", "-m", "Words [ci skip]", cwd=project.tree)
    await git("push", "-q", "origin", "main", cwd=project.tree)
    sha = await git("rev-parse", "HEAD", cwd=project.tree)
    found = await house.pipeline(project, "push", sha=sha)
    assert (found["status"], found["ref"]) == ("skipped", "main")
    assert await project.get(f"pipelines/{found['id']}/jobs") == []


async def test_the_form_of_the_page(house: House) -> None:
    project = await house.project("formed")
    headers = {"Accept": "text/html", "Origin": house.server.url}
    async with httpx.AsyncClient(base_url=house.server.url, headers=headers, trust_env=False, timeout=HANGS) as browser:
        await visit_first(browser)
        entered = await browser.post("/users/sign_in", data={"username": "ada", "password": PASSWORD})
        assert entered.status_code == 303, entered.text
        sent = {"ref": "main", "keys[]": ["DEPTH"], "values[]": ["deep"]}
        made = await browser.post("/ada/formed/-/pipelines", data=sent)
    assert made.status_code == 303, made.text
    found = {"id": int(made.headers["location"].rpartition("/")[2])}
    await house.expect(project, "web", "main", found, DEPTH="deep")


async def test_the_api(house: House) -> None:
    project = await house.project("asked")
    found = await house.post(
        f"projects/{project.id}/pipeline", ref="main", variables=[{"key": "DEPTH", "value": "deep"}]
    )
    await house.expect(project, "api", "main", found, DEPTH="deep", CI_COMMIT_BRANCH="main")


async def test_a_trigger_token_from_outside(house: House) -> None:
    project = await house.project("triggered")
    trigger = await house.post(f"projects/{project.id}/triggers", description="outside")
    sent = {"token": trigger["token"], "ref": "main", "variables[DEPTH]": "deep"}
    async with httpx.AsyncClient(base_url=house.server.url, trust_env=False, timeout=HANGS) as outside:
        made = await outside.post(f"/api/v4/projects/{project.id}/trigger/pipeline", data=sent)
    assert made.status_code == 201, made.text
    await house.expect(project, "trigger", "main", made.json(), DEPTH="deep", CI_PIPELINE_TRIGGERED="true")


async def test_the_token_of_a_running_job(house: House) -> None:
    caller, called = await house.project("calling", HELD), await house.project("called")
    await house.post(f"projects/{called.id}/job_token_scope/allowlist", target_project_id=caller.id)
    first = await house.post(f"projects/{caller.id}/pipeline", ref="main")

    async def held() -> dict[str, Any] | None:
        return house.held.get(first["id"])

    job = await eventually(held, "the calling job runs")
    sent = {"token": job["token"], "ref": "main", "variables[DEPTH]": "deep"}
    async with httpx.AsyncClient(base_url=house.server.url, trust_env=False, timeout=HANGS) as inside:
        made = await inside.post(f"/api/v4/projects/{called.id}/trigger/pipeline", data=sent)
    assert made.status_code == 201, made.text
    await house.expect(called, "pipeline", "main", made.json(), DEPTH="deep")


async def test_a_tick_of_a_schedule(house: House) -> None:
    project = await house.project("ticking")
    new: dict[str, Any] = {"description": "each minute", "ref": "main", "cron": "* * * * *", "active": False}
    schedule = await house.post(f"projects/{project.id}/pipeline_schedules", **new)
    place = f"projects/{project.id}/pipeline_schedules/{schedule['id']}"
    await house.post(f"{place}/variables", key="DEPTH", value="deep")
    assert (await house.ada.put(f"/api/v4/{place}", json={"active": True})).status_code == 200
    found = await house.pipeline(project, "schedule", within=TICK_WITHIN)
    await house.expect(project, "schedule", "main", found, DEPTH="deep", CI_PIPELINE_SCHEDULE_DESCRIPTION="each minute")


async def test_a_merge_request_alone_then_merged_on_trial_then_on_a_train_then_merged(house: House) -> None:
    project = await house.project("requested")
    tree, source = project.tree, "merge_request_event"
    await git("checkout", "-q", "-b", "fix", cwd=tree)
    await project.commit({"fix.txt": "1"})
    await git("push", "-q", "-o", "ci.skip", "origin", "fix", cwd=tree)
    new: dict[str, Any] = {"source_branch": "fix", "target_branch": "main", "title": "Fix"}
    request = await house.post(f"projects/{project.id}/merge_requests", **new)
    place = f"refs/merge-requests/{request['iid']}"
    known = {"CI_MERGE_REQUEST_IID": str(request["iid"]), "CI_MERGE_REQUEST_SOURCE_BRANCH_NAME": "fix"}
    alone = await house.pipeline(project, source, ref=f"{place}/head")
    await house.expect(project, source, f"{place}/head", alone, **known, CI_MERGE_REQUEST_EVENT_TYPE="detached")
    assert alone["sha"] == await git("rev-parse", "fix", cwd=tree)

    on = {"merge_pipelines_enabled": True, "merge_trains_enabled": True}
    assert (await house.ada.put(f"/api/v4/projects/{project.id}", json=on)).status_code == 200
    main = await git("rev-parse", "main", cwd=tree)
    head = await project.commit({"fix.txt": "2"})
    await git("push", "-q", "-o", "ci.skip", "origin", "fix", cwd=tree)
    # The commits that came with `ci.skip` have no pipeline; one is asked for.
    await house.post(f"projects/{project.id}/merge_requests/{request['iid']}/pipelines")
    trial = await house.pipeline(project, source, ref=f"{place}/merge")
    await house.expect(project, source, f"{place}/merge", trial, **known, CI_MERGE_REQUEST_EVENT_TYPE="merged_result")
    parents = (await project.get(f"repository/commits/{trial['sha']}"))["parent_ids"]
    assert parents == [main, head]

    await house.post(f"projects/{project.id}/merge_trains/merge_requests/{request['iid']}")
    train = await house.pipeline(project, source, ref=f"{place}/train")
    await house.expect(project, source, f"{place}/train", train, **known, CI_MERGE_REQUEST_EVENT_TYPE="merge_train")

    async def merged() -> dict[str, Any] | None:
        found: dict[str, Any] = await project.get(f"merge_requests/{request['iid']}")
        return found if found["state"] == "merged" else None

    landed = await eventually(merged, "it is merged", 30)
    assert landed["merge_commit_sha"] == train["sha"]
    pushed = await house.pipeline(project, "push", ref="main", sha=train["sha"])
    await house.expect(project, "push", "main", pushed, CI_COMMIT_BRANCH="main")


async def test_a_push_to_an_open_merge_request(house: House) -> None:
    project = await house.project("updated")
    await git("checkout", "-q", "-b", "fix", cwd=project.tree)
    await project.commit({"fix.txt": "1"})
    await git("push", "-q", "-o", "ci.skip", "origin", "fix", cwd=project.tree)
    new: dict[str, Any] = {"source_branch": "fix", "target_branch": "main", "title": "Fix"}
    await house.post(f"projects/{project.id}/merge_requests", **new)
    sha = await project.commit({"fix.txt": "2"})
    await git("push", "-q", "origin", "fix", cwd=project.tree)
    ref = "refs/merge-requests/1/head"
    found = await house.pipeline(project, "merge_request_event", ref=ref, sha=sha)
    await house.expect(project, "merge_request_event", ref, found, CI_MERGE_REQUEST_EVENT_TYPE="detached")


async def test_a_subscription_to_another_project(house: House) -> None:
    upstream, project = await house.project("upstream"), await house.project("subscribed")
    await house.post(f"projects/{project.id}/subscriptions", upstream_project=upstream.id)
    await git("tag", "v1", cwd=upstream.tree)
    await git("push", "-q", "origin", "v1", cwd=upstream.tree)
    release = await house.pipeline(upstream, "push", ref="v1")
    found = await house.pipeline(project, "pipeline")
    known = {"CI_UPSTREAM_PIPELINE_ID": str(release["id"]), "CI_UPSTREAM_PROJECT_ID": str(upstream.id)}
    await house.expect(project, "pipeline", "main", found, **known)


async def test_bridges_to_another_project_and_to_a_child(house: House) -> None:
    project = await house.project("downstream")
    bridges = """
go: {trigger: {project: ada/downstream, branch: main}, variables: {DEPTH: deep}}
child: {trigger: {include: child.yml}, variables: {DEPTH: deeper}}
"""
    upstream = await Project.create(
        house.ada, "bridging", house.folder / "bridging", {".gitlab-ci.yml": bridges, "child.yml": CONFIG}
    )
    await git("push", "-q", "origin", "main", cwd=upstream.tree)
    await house.expect(project, "pipeline", "main", await house.pipeline(project, "pipeline"), DEPTH="deep")
    child = await house.pipeline(upstream, "parent_pipeline")
    await house.expect(upstream, "parent_pipeline", "main", child, DEPTH="deeper")


async def test_auto_devops_where_there_is_no_configuration(house: House) -> None:
    project = await house.project("automatic", None, auto_devops_enabled=True)
    await project.commit({"Dockerfile": "FROM scratch\n"})
    await git("push", "-q", "origin", "main", cwd=project.tree)
    found = await house.pipeline(project, "push", ref="main")
    await house.expect(project, "push", "main", found, CI_COMMIT_BRANCH="main")
    assert "build" in {job["name"] for job in await project.get(f"pipelines/{found['id']}/jobs")}


def signed(forge: str, secret: str, event: str, body: bytes) -> dict[str, str]:
    """The headers with which a forge sends a body."""
    right = hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    return {
        "github": {"X-GitHub-Event": event, "X-GitHub-Delivery": "1", "X-Hub-Signature-256": f"sha256={right}"},
        "gitea": {"X-Gitea-Event": event, "X-Gitea-Delivery": "1", "X-Gitea-Signature": right},
        "forgejo": {"X-Forgejo-Event": event, "X-Forgejo-Delivery": "1", "X-Forgejo-Signature": right},
        "gitlab": {"X-Gitlab-Event": "Push Hook", "Idempotency-Key": "1", "X-Gitlab-Token": secret},
    }[forge]


async def tell(house: House, forge: str, hook: dict[str, Any], event: str, document: Mapping[str, Any]) -> None:
    """Send a body as the forge would; one that is wrongly signed is refused before."""
    body = orjson.dumps(document)
    async with httpx.AsyncClient(base_url=house.server.url, trust_env=False, timeout=HANGS) as outside:
        wrong = await outside.post(
            f"/api/hooks/{hook['id']}", content=body, headers=signed(forge, "wrong" * 9, event, body)
        )
        right = await outside.post(
            f"/api/hooks/{hook['id']}", content=body, headers=signed(forge, hook["secret"], event, body)
        )
    assert (wrong.status_code, right.status_code) == (401, 202), (wrong.text, right.text)


async def mirror_of(house: House, origin: Project, name: str) -> Project:
    """A project that mirrors another one."""
    made = await house.post("projects", name=name)
    mirror = Project(house.ada, made["id"], origin.tree)
    token = house.ada.headers["private-token"]
    path = f"{house.server.url}/ada/{origin.tree.name}.git"
    given = {"url": path, "auth_user": "ada", "auth_password": token, "mirror_trigger_builds": True}
    response = await house.ada.put(f"/api/v4/projects/{mirror.id}/mirror/pull", json=given)
    assert response.status_code == 200, response.text
    await house.pipeline(mirror, "push")
    return mirror


@pytest.mark.parametrize("forge", FORGES)
async def test_a_forge_tells_of_a_push(house: House, forge: str) -> None:
    origin = await house.project(f"origin-{forge}")
    mirror = await mirror_of(house, origin, f"mirror-{forge}")
    hook = await house.post(f"projects/{mirror.id}/incoming_hooks", forge=forge)
    sha = await origin.commit({"x.txt": "1"})
    await git("push", "-q", "origin", "main", cwd=origin.tree)
    await tell(house, forge, hook, "push", {"ref": "refs/heads/main"})
    found = await house.pipeline(mirror, "push", sha=sha)
    await house.expect(mirror, "push", "main", found, CI_COMMIT_BRANCH="main")


@pytest.mark.parametrize("forge", FORGES[:3])
async def test_a_forge_tells_of_a_pull_request(house: House, forge: str) -> None:
    origin = await house.project(f"pulled-{forge}")
    mirror = await mirror_of(house, origin, f"pulling-{forge}")
    hook = await house.post(f"projects/{mirror.id}/incoming_hooks", forge=forge)
    base = await git("rev-parse", "main", cwd=origin.tree)
    await git("checkout", "-q", "-b", "fix", cwd=origin.tree)
    sha = await origin.commit({"x.txt": "1"})
    await git("push", "-q", "origin", "fix", cwd=origin.tree)
    repository = {"full_name": f"ada/pulled-{forge}"}
    sides = {
        "head": {"repo": repository, "ref": "fix", "sha": sha},
        "base": {"repo": repository, "ref": "main", "sha": base},
    }
    body = {"action": "opened", "number": 7, "pull_request": sides}
    await tell(house, forge, hook, "pull_request", body)
    found = await house.pipeline(mirror, "external_pull_request_event", sha=sha)
    known = {"CI_EXTERNAL_PULL_REQUEST_IID": "7", "CI_EXTERNAL_PULL_REQUEST_TARGET_BRANCH_SHA": base}
    await house.expect(mirror, "external_pull_request_event", "fix", found, **known)
