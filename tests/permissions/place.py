"""An installation with two private groups that are alike: everybody is a member of the one, nobody of the other.

Each call starts from the same state: the database and the repositories are put back before it.
"""

import asyncio
import base64
import gzip
import os
import shutil
import sqlite3
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, closing, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, TypeAlias
from urllib.parse import quote

import httpx
import orjson

from application.notifications.unsubscribing import Ending
from application.notifications.unsubscribing import link as unsubscribing_link
from application.pushes.push import finish_abandoned
from loops.reports import ReportLoop
from models.repositories.accounts import members
from models.repositories.namespaces import namespaces
from settings import RateLimits, TimeLimits
from tests import forms
from tests.api.v4.jobs.test_artifacts import archive
from tests.api.v4.site import Person, Site, open_site
from tests.git.serving import git, new_commit, new_work_tree
from tests.permissions.calls import Call

ROLES: Final[Mapping[str, int]] = {"guest": 10, "reporter": 20, "developer": 30, "maintainer": 40, "owner": 50}
EVERYBODY: Final = ("anonymous", *ROLES, "admin")

CONFIG: Final = """
build: {stage: build, script: make, artifacts: {paths: [out], reports: {junit: j.xml}}}
deploy:
  stage: deploy
  script: make
  environment: {name: live, on_stop: stop}
stop: {stage: deploy, script: make, when: manual, environment: {name: live, action: stop}, resource_group: live}
check:
  stage: build
  script: make check
  when: manual
  rules: [{if: $CI_PIPELINE_SOURCE == "merge_request_event"}]
"""


UNLIMITED: Final = RateLimits(api_calls=0, anonymous_api_calls=0, hook_tests=0, hook_resends=0)
"""What is counted in a minute is not put back before a call: how fast the calls follow would change a response."""

TOLD: Final[Mapping[str, Mapping[str, str]]] = {
    "slack": {"webhook": "https://chat.example/hook"},
    "mattermost": {"webhook": "https://chat.example/hook"},
    "pipelines-email": {"recipients": "team@example.com"},
}
"""Integrations that are told what happens."""

Around: TypeAlias = Callable[[Site], AbstractAsyncContextManager[None]]
"""What runs beside an installation."""


@asynccontextmanager
async def _alone(_site: Site) -> AsyncIterator[None]:
    yield


@dataclass
class Place:
    """The two sides: `objects[side]` has a value for each name of a path's parameter.

    `tokens` are those of running jobs of people, where a test has let some run.
    """

    site: Site
    people: dict[str, Person | None]
    objects: dict[str, dict[str, str]]
    tokens: dict[str, str] = field(default_factory=dict)
    _live: sqlite3.Connection | None = None
    _state: tuple[str, int] = ("", 0)
    _writes: bool = True

    async def status(self, call: Call, who: str, side: str) -> int:
        """The status that somebody gets for a call on the objects of a side, when everything is put back."""
        await self.put_back()
        return await self.status_now(call, who, side)

    async def status_now(self, call: Call, who: str, side: str) -> int:
        """The same as everything is now."""
        person = self.people[who]
        headers = {"origin": self.site.services.settings.url, "content-type": "application/json", **forms.TOKEN}
        headers["cookie"] = "; ".join(f"{name}={value}" for name, value in forms.COOKIES.items())
        if person is not None:
            basic = base64.b64encode(f"{person.username}:{person.token}".encode()).decode()
            headers |= {"private-token": person.token, "authorization": f"Basic {basic}"}
        values = {**self.objects[side], "caller": str(person.id if person else 0)}
        return (await self.first_word(call.filled(values), {**headers, **call.headers}))[0]

    async def first_word(self, call: Call, headers: Mapping[str, str]) -> tuple[int, str]:
        """Call the application, and go away as soon as it begins to answer: with a status, and where it leads."""
        self._writes = call.method not in {"GET", "HEAD"}
        path, _, query = call.path.partition("?")
        started: asyncio.Future[tuple[int, str]] = asyncio.get_running_loop().create_future()
        sent = False

        async def receive() -> dict[str, Any]:
            nonlocal sent
            if sent:
                await asyncio.Event().wait()
            sent = True
            return {"type": "http.request", "body": call.content, "more_body": False}

        async def send(message: Any) -> None:
            if message["type"] == "http.response.start" and not started.done():
                found = dict(message["headers"])
                started.set_result((message["status"], found.get(b"location", b"").decode()))

        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": call.method,
            "scheme": "http",
            "path": httpx.URL(f"http://x{path}").path,
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "root_path": "",
            "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
            "client": ("127.0.0.1", 1),
            "server": ("perdure.test", 80),
        }
        calling = asyncio.ensure_future(self.site.app(scope, receive, send))
        either: set[asyncio.Future[Any]] = {calling, started}
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED, timeout=120)
        assert started.done(), f"{call.method} {call.path} was not answered: {calling}"
        calling.cancel()
        with suppress(asyncio.CancelledError):
            await calling
        return started.result()

    def keep(self, name: str = "kept") -> None:
        """The state to which everything is put back; every token was used a moment ago, which is noted no more."""
        home, root = self.site.services.settings.home, self.site.services.settings.repository_root
        live = self._live = self._live or sqlite3.connect(home / "perdure.db")
        with closing(sqlite3.connect(home / f"{name}.db")) as kept:
            with live:
                live.execute("UPDATE access_token SET last_used_at = datetime('now', '+1 day')")
                live.execute("UPDATE account SET last_activity_on = date('now', '+1 day')")
            live.backup(kept)
        self._state = (name, _version_of(live))
        if refs_of(root) != refs_of(home / f"{name}-repositories"):
            shutil.rmtree(home / f"{name}-repositories", ignore_errors=True)
            shutil.copytree(root, home / f"{name}-repositories")

    def close(self) -> None:
        """Leave the database."""
        if self._live is not None:
            self._live.close()

    def changed(self) -> list[str]:
        """What somebody has written since everything was put back: tables of the database, and repositories."""
        home, root = self.site.services.settings.home, self.site.services.settings.repository_root
        name, version = self._state
        changed = ["repositories"] if self._writes and refs_of(root) != refs_of(home / f"{name}-repositories") else []
        if self._live is not None and _version_of(self._live) != version:
            changed += _changed_tables(self._live, home / f"{name}.db")
        return changed

    async def put_back(self, name: str = "kept") -> None:
        """Put everything back to the state that was kept under a name."""
        services = self.site.services
        home, root = services.settings.home, services.settings.repository_root
        live = self._live = self._live or sqlite3.connect(home / "perdure.db")
        if self._state != (name, _version_of(live)):
            with closing(sqlite3.connect(home / f"{name}.db")) as kept:
                kept.backup(live)
            self._writes = self._writes or self._state[0] != name
            self._state = (name, _version_of(live))
        if self._writes and refs_of(root) != refs_of(home / f"{name}-repositories"):
            shutil.rmtree(root)
            shutil.copytree(home / f"{name}-repositories", root)
        self._writes = True  # for all that we know


def _changed_tables(live: sqlite3.Connection, kept: Path) -> list[str]:
    """The tables whose rows are not those of a kept database."""
    live.execute("ATTACH ? AS kept", (str(kept),))
    try:
        names = [name for (name,) in live.execute("SELECT name FROM main.sqlite_master WHERE type = 'table'")]
        pairs = (("main", "kept"), ("kept", "main"))
        return [
            name
            for name in names
            if any(
                live.execute(f'SELECT * FROM {one}."{name}" EXCEPT SELECT * FROM {other}."{name}" LIMIT 1').fetchone()
                for one, other in pairs
            )
        ]
    finally:
        live.execute("DETACH kept")


def _version_of(live: sqlite3.Connection) -> int:
    """A number that another one stands for as soon as somebody else has written."""
    return int(live.execute("PRAGMA data_version").fetchone()[0])


def refs_of(root: Path) -> dict[str, str]:
    """Every ref of every repository."""
    found: dict[str, str] = {}
    for folder in root.glob("*.git"):
        places = [folder / "HEAD", folder / "packed-refs"]
        for base, _, names in os.walk(folder / "refs"):
            places += [Path(base, name) for name in names]
        found |= {str(path.relative_to(root)): path.read_text() for path in places if path.exists()}
    return found


@asynccontextmanager
async def open_place(
    folder: Path,
    hook_url: str = "https://hook.example/",
    around: Around = _alone,
    sides: Sequence[str] = ("own", "foreign"),
    database_url: str = "",
    **more: Any,
) -> AsyncIterator[Place]:
    """The installation, filled, with `more` settings; its webhooks lead to `hook_url`.

    `around` runs beside it. Nobody waits for webhooks unless the settings say so. In a database that is not its own
    file nothing is put back.
    """
    more = {"times": TimeLimits(hook_timeout=0.02), "rates": UNLIMITED, **more}
    async with open_site(folder, database_url, **more) as site, around(site):
        site.connect_temporal()
        async with site.client(site.root) as client:
            await client.post("/api/v4/admin/ci/variables", json={"key": "A", "value": "value"})
        people: dict[str, Person | None] = {"anonymous": None, "admin": site.root}
        for name in ROLES:
            people[name] = await site.person(name)
        objects = {side: await _side(site, side, hook_url) for side in sides}
        async with site.services.database.write() as connection:
            team = await namespaces.get_by(connection, key=int(objects["own"]["group"]))
            for name, level in ROLES.items():
                person = people[name]
                assert person is not None
                await members.add_to_group(connection, team.id, person.id, level)
        await finish_abandoned(site.services, all_of_them=True)
        place = Place(site, people, objects)
        if not database_url:
            place.keep()
        try:
            yield place
        finally:
            place.close()


async def _side(site: Site, side: str, hook_url: str) -> dict[str, str]:
    """A group with a project in a group within it, and one of everything in each."""
    async with site.client(site.root) as client:

        async def made(path: str, /, **body: Any) -> dict[str, Any]:
            response = await client.post(f"/api/v4{path}", content=orjson.dumps(body))
            assert response.status_code in {200, 201}, f"{path}: {response.text}"
            found: dict[str, Any] = response.json()
            return found

        top = await made("/groups", name=f"{side}-top", path=f"{side}-top")
        group = await made("/groups", name="team", path="team", parent_id=top["id"])
        project = await made("/projects", name="app", namespace_id=group["id"])
        base, of_group = f"/projects/{project['id']}", f"/groups/{group['id']}"
        member = await site.person(f"{side}-member")
        for where in (base, of_group):
            await made(f"{where}/members", user_id=member.id, access_level=30)
            await made(f"{where}/variables", key="A", value="value")
        tokens = {
            where: (await made(f"{where}/access_tokens", name="bot", scopes=["api"], access_level=30))["id"]
            for where in (base, of_group)
        }
        deploy_tokens = {
            where: (await made(f"{where}/deploy_tokens", name="deployer", scopes=["read_repository"]))["id"]
            for where in (base, of_group)
        }
        await made(f"{base}/protected_tags", name="v*")
        for where, name in ((base, "guarded"), (of_group, "staging")):
            await made(f"{where}/protected_environments", name=name, deploy_access_levels=[{"access_level": 40}])
        secure = await client.post(f"/api/v4{base}/secure_files", data={"name": "a"}, files={"file": ("a", b"a")})
        assert secure.status_code == 201, secure.text
        brought = await client.post(f"/api/v4{base}/uploads", files={"file": ("a", b"a")})
        assert brought.status_code == 201, brought.text
        personal = await made(f"/users/{member.id}/personal_access_tokens", name="t", scopes=["api"])
        public = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI" + ("B" if side == "own" else "C") * 43
        ssh_key = await made(f"/users/{member.id}/keys", title="laptop", key=public)
        pair = {"key": "A", "value": "a"}
        of_hook = {"url": hook_url, "custom_headers": [pair], "url_variables": [pair]}
        hooks = {where: (await made(f"{where}/hooks", **of_hook))["id"] for where in (base, of_group, "")}
        link = {"repository_url": "https://git.example/a/b", "token": "t"}
        assert (await client.put(f"/api/v4{base}/integrations/gitea", json=link)).status_code == 200
        for slug, told in TOLD.items():
            assert (await client.put(f"/api/v4{base}/integrations/{slug}", json=told)).status_code == 200
        await made(f"{base}/labels", name="bug", color="#ff0000")
        await made(f"{of_group}/labels", name="team", color="#ff0000")
        address = {"link_url": "https://badges.example/a", "image_url": "https://badges.example/b"}
        badges = {where: (await made(f"{where}/badges", **address))["id"] for where in (base, of_group)}
        plans = {where: (await made(f"{where}/milestones", title=where))["id"] for where in (base, of_group)}
        engine = await _engine_objects(site, client, project, side)
        schedule = await made(f"{base}/pipeline_schedules", description="nightly", ref="fix", cron="0 1 * * *")
        await made(f"{base}/pipeline_schedules/{schedule['id']}/variables", key="A", value="value")
        trigger = await made(f"{base}/triggers", description="outside")
        incoming = await made(f"{base}/incoming_hooks", forge="github")
        mirror = {"url": "https://git.example/a/b.git", "enabled": False}
        response = await client.put(f"/api/v4{base}/mirror/pull", json=mirror)
        assert response.status_code == 200, response.text
        upstream = await made("/projects", name="upstream", namespace_id=group["id"])
        scope = f"{base}/job_token_scope"
        listed = await made("/projects", name="listed", namespace_id=group["id"])
        await made(f"{scope}/allowlist", target_project_id=listed["id"])
        await made(f"{scope}/groups_allowlist", target_group_id=top["id"])
        subscription = await made(f"{base}/subscriptions", upstream_project=upstream["id"])
        events = {where: await _tested(client, f"/api/v4{where}/hooks/{key}") for where, key in hooks.items()}
        runner = await made("/user/runners", runner_type="project_type", project_id=project["id"])
        ending = unsubscribing_link(site.services, Ending(project["id"], account_id=member.id))
        values = {
            "project": project["id"],
            "group": group["id"],
            "path": quote(project["path_with_namespace"]),
            "user_id": member.id,
            "personal_token": personal["id"],
            "project_token": tokens[base],
            "schedule_id": schedule["id"],
            "trigger_id": trigger["id"],
            "trigger_token": trigger["token"],
            "incoming_id": incoming["id"],
            "subscription_id": subscription["id"],
            "group_token": tokens[of_group],
            "file_id": secure.json()["id"],
            "upload_id": brought.json()["id"],
            "secret": brought.json()["url"].split("/")[2],
            "filename": "a",
            "ssh_key": ssh_key["id"],
            "deploy_token": deploy_tokens[base],
            "group_deploy_token": deploy_tokens[of_group],
            "badge_id": badges[base],
            "group_badge": badges[of_group],
            "runner_id": runner["id"],
            "upstream_project": upstream["id"],
            "listed_project": listed["id"],
            "listed_group": top["id"],
            "hook_id": hooks[base],
            "event_id": events[base],
            "group_hook": hooks[of_group],
            "milestone_id": plans[base],
            "group_milestone": plans[of_group],
            "group_event": events[of_group],
            "system_hook": hooks[""],
            "system_event": events[""],
            "unsubscribe": ending.rpartition("/")[2],
            **engine,
        }
        return {name: str(value) for name, value in values.items()}


async def _tested(client: httpx.AsyncClient, hook: str) -> int:
    """The id of what a webhook was told by a test, which takes longer than anybody waits here."""
    response = await client.post(f"{hook}/test/push_events")
    assert response.status_code in {201, 202}, response.text
    newest, *_ = (await client.get(f"{hook}/events")).json()
    return int(newest["id"])


async def _engine_objects(site: Site, client: httpx.AsyncClient, project: dict[str, Any], side: str) -> dict[str, Any]:
    """Commits, a pipeline with jobs that have ended and wait, an environment, a deployment, a release."""
    base = f"/api/v4/projects/{project['id']}"
    tree = site.folder / f"tree-{side}"
    await new_work_tree(tree, {".gitlab-ci.yml": CONFIG})
    await git("branch", "older", cwd=tree)
    await git("checkout", "-q", "-b", "feature", cwd=tree)
    await new_commit(tree, {"feature.txt": "feature\n"})
    await git("checkout", "-q", "-b", "riding", cwd=tree)
    await new_commit(tree, {"riding.txt": "riding\n"})
    await git("checkout", "-q", "main", cwd=tree)
    sha = await new_commit(tree, {"README.md": "# App\n"})
    await git("tag", "v1", cwd=tree)
    repository = site.services.repositories.path(project["id"])
    await git("push", "-q", repository, "main", "v1", "older", "main:refs/heads/fix", "feature", "riding", cwd=tree)
    world = replace(site.world, project_id=project["id"])
    pipeline = (await client.post(f"{base}/pipeline", json={"ref": "main"})).json()
    await world.settle(pipeline["id"])
    build = await world.job()
    assert (await world.upload(build, archive({"out/a.txt": "1"}), artifact_format="zip")).status_code == 201
    report = gzip.compress(b'<testsuite><testcase name="adds"><failure/></testcase></testsuite>')
    handed_in = await world.upload(build, report, artifact_type="junit", artifact_format="gzip")
    assert handed_in.status_code == 201, handed_in.text
    await ReportLoop(site.services.database, site.services.store, site.services.notifications).parse()
    tests = (await client.get(f"{base}/pipelines/{pipeline['id']}/test_report")).json()
    await world.patch(build, 0, b"hello\n")
    await world.put(build, "success", b"hello\n")
    await world.settle(pipeline["id"])
    deploy = await world.job()
    await world.put(deploy, "success")
    await world.settle(pipeline["id"])
    jobs = {job["name"]: job["id"] for job in (await client.get(f"{base}/pipelines/{pipeline['id']}/jobs")).json()}
    links = [{"name": "app", "url": "https://files.example/app", "direct_asset_path": "/app"}]
    first = {"tag_name": "v1", "description": "First", "assets": {"links": links}}
    release = await client.post(f"{base}/releases", json=first)
    assert release.status_code == 201, release.text
    (environment,) = (await client.get(f"{base}/environments")).json()
    stopped = (await client.post(f"{base}/environments", json={"name": "old"})).json()
    await client.post(f"{base}/environments/{stopped['id']}/stop")
    (deployment,) = (await client.get(f"{base}/deployments")).json()
    outside = {"environment": "trial", "sha": "main", "ref": "main", "tag": False, "status": "failed"}
    reported = await client.post(f"{base}/deployments", json=outside)
    assert reported.status_code == 201, reported.text
    settings = {"merge_pipelines_enabled": True, "merge_trains_enabled": True}
    assert (await client.put(base, json=settings)).status_code == 200
    iids, heads = [], []
    for branch in ("feature", "riding"):
        request = {"source_branch": branch, "target_branch": "main", "title": branch}
        opened = await client.post(f"{base}/merge_requests", json=request)
        assert opened.status_code == 201, opened.text
        iids.append(opened.json()["iid"])
        heads.append(opened.json()["head_pipeline"]["id"])
        await world.settle(opened.json()["head_pipeline"]["id"])
    assert (await client.post(f"{base}/merge_trains/merge_requests/{iids[1]}")).status_code == 201
    place = f"{base}/merge_requests/{iids[0]}"
    thread = (await client.post(f"{place}/discussions", json={"body": "Why?"})).json()
    (version,) = (await client.get(f"{place}/versions")).json()
    return {
        "sha": sha,
        "iid": iids[0],
        "discussion_id": thread["id"],
        "note_id": thread["notes"][0]["id"],
        "version_id": version["id"],
        "rule_id": project["id"],
        "riding_iid": iids[1],
        "open_pipeline": heads[0],
        "blob_id": await git("rev-parse", "HEAD:README.md", cwd=tree),
        "pipeline_id": pipeline["id"],
        "job_id": jobs["build"],
        "manual_id": jobs["stop"],
        "unit_test_id": tests["test_suites"][0]["test_cases"][0]["unit_test_id"],
        "environment_id": environment["id"],
        "stopped_id": stopped["id"],
        "deployment_id": deployment["id"],
        "reported_id": reported.json()["id"],
    }
