"""An organisation with something of most kinds, whoever looks at it, and what they see."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import httpx

from tests.e2e.player import Player
from tests.e2e.test_python_gitlab import upload
from tests.foreign import organisation as foreign
from tests.git.serving import git
from tests.project import Project

Document = dict[str, Any]

PLAYERS: Final = 4
CONFIG: Final = """
stages: [build, gate, test, later]
build: {stage: build, script: "true", parallel: 2, artifacts: {paths: [made]}}
gate: {stage: gate, script: "true", rules: [{if: $GATE, when: manual}]}
test: {stage: test, script: "true", parallel: 2}
slow: {stage: later, script: "true", when: delayed, start_in: 5 seconds}
""" + foreign.jobs("test")
JOB, EVERY = 0.2, 2.0
"""Seconds that a job takes, and between two pipelines that are triggered."""
JOBS: Final = 5
"""Of a pipeline without gate, and without jobs for runners of others."""


class Person:
    """The administrator of a pod, by the one address."""

    def __init__(self, client: httpx.AsyncClient, token: str, pod: int) -> None:
        self.client = client
        self.token = token
        self.pod = pod

    async def call(self, method: str, path: str, **options: Any) -> Any:
        response = await self.client.request(method, f"/api/v4{path}", **options)
        assert response.is_success, (method, path, response.status_code, response.text)
        return response.json() if response.content else None


@dataclass
class Organisation:
    """A group with a project, and runners of its own that never stop to ask."""

    path: str
    group_id: int
    project: Project
    runners: list[Player]
    trigger: str
    deploy: tuple[str, str]
    taken: list[int] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    made: list[int] = field(default_factory=list)
    """Pipelines that were acknowledged."""
    statuses: Counter[int] = field(default_factory=Counter)

    async def play(self, player: Player, done: asyncio.Event) -> None:
        while not done.is_set():
            job = await player.ask()
            if job is None:
                await asyncio.sleep(0.1)  # how often runners ask
                continue
            self.taken.append(job["id"])
            await asyncio.sleep(JOB)  # how long a job takes
            if job["job_info"]["stage"] == "build":
                await upload(player._client, job)
            self.ends.append(await player.finish(job))

    async def trigger_for_ever(self, nobody: httpx.AsyncClient, done: asyncio.Event) -> None:
        """Somebody elsewhere who knows a token and an address, and comes again when told to."""
        while not done.is_set():
            await asyncio.sleep(EVERY)  # how often somebody triggers
            response = await self.trigger_one(nobody)
            self.statuses[response.status_code] += 1
            if response.status_code == httpx.codes.CREATED:
                self.made.append(response.json()["id"])

    async def trigger_one(self, nobody: httpx.AsyncClient) -> httpx.Response:
        body = {"token": self.trigger, "ref": "main"}
        return await nobody.post(f"/api/v4/projects/{self.project.id}/trigger/pipeline", data=body)

    async def is_pending(self, people: Sequence[Person], name: str) -> bool:
        """Whether a job of this name waits, wherever the organisation is; no pod says so while it is on its way."""
        for person in people:
            path = f"/api/v4/projects/{self.project.id}/jobs?scope[]=pending&per_page=100"
            response = await person.client.get(path)
            if response.is_success and any(job["name"] == name for job in response.json()):
                return True
        return False

    def remote(self, person: Person) -> str:
        """The URL of its repository for who has its deploy token."""
        name, token = self.deploy
        return f"http://{name}:{token}@{urlsplit(str(person.client.base_url)).netloc}/{self.path}/tool.git"

    def seen_from(self, person: Person) -> Project:
        return Project(person.client, self.project.id, self.project.tree)


async def found_organisation(person: Person, nobody: httpx.AsyncClient, path: str, tree: Path) -> Organisation:
    """An organisation with something of most kinds."""
    group = await person.call("POST", "/groups", json={"name": path, "path": path, "visibility": "private"})
    body = {"name": "tool", "namespace_id": group["id"]}
    made = await person.call("POST", "/projects", json=body)
    parts = urlsplit(str(person.client.base_url))
    await git("init", "-q", "-b", "main", tree, cwd=tree.parent)
    await git("remote", "add", "origin", f"http://root:{person.token}@{parts.netloc}/{path}/tool.git", cwd=tree)
    project = Project(person.client, made["id"], tree)
    await project.commit({".gitlab-ci.yml": CONFIG, "README.md": path})
    at = f"/projects/{project.id}"
    variables: list[Document] = [
        {"key": "SECRET", "value": "swordfish of " + path},
        {"key": "MASKED", "value": "masked-value", "masked": True, "protected": True},
    ]
    for variable in variables:
        await person.call("POST", f"{at}/variables", json=variable)
    await person.call("POST", f"/groups/{group['id']}/variables", json={"key": "OF_GROUP", "value": "ours"})
    trigger = await person.call("POST", f"{at}/triggers", json={"description": "by token"})
    deploy = await person.call("POST", f"{at}/deploy_tokens", json={"name": "reads", "scopes": ["read_repository"]})
    runners = []
    for number in range(PLAYERS):
        kind: Document = {"runner_type": "group_type", "group_id": group["id"]}
        if number % 2:
            kind = {"runner_type": "project_type", "project_id": project.id}
        runner = await person.call("POST", "/user/runners", json={**kind, "description": f"{path} {number}"})
        player = Player(nobody, "")
        player._token = runner["token"]
        runners.append(player)
    # Jobs of these projects are for those runners alone.
    await person.call("PUT", at, json={"shared_runners_enabled": False})
    names = deploy["username"], deploy["token"]
    return Organisation(path, group["id"], project, runners, trigger["token"], names)


async def all_of(organisation: Organisation, person: Person, done: int) -> Document:
    """What people see of it, without what the pod may call otherwise: who somebody is, and who ran a job."""
    at, group = f"/projects/{organisation.project.id}", f"/groups/{organisation.group_id}"
    project = organisation.seen_from(person)
    found: Document = {}
    for name, path in {
        "project": at,
        "group": group,
        "projects": f"{group}/projects",
        "variables": f"{at}/variables",
        "of group": f"{group}/variables",
        "triggers": f"{at}/triggers",
        "deploy tokens": f"{at}/deploy_tokens",
        "schedules": f"{at}/pipeline_schedules",
        "branches": f"{at}/repository/branches",
        "commits": f"{at}/repository/commits",
        "runners": f"{group}/runners?type=group_type",
    }.items():
        found[name] = _comparable(await person.call("GET", path))
    found["done"] = _comparable(await person.call("GET", f"{at}/pipelines/{done}"))
    jobs = await project.jobs(done)
    found["jobs"] = _comparable(jobs)
    for job in jobs.values():
        found[f"log of {job['id']}"] = await project.log(job["id"])
        if job["stage"] == "build":
            archive = await person.client.get(f"/api/v4{at}/jobs/{job['id']}/artifacts")
            found[f"archive of {job['id']}"] = archive.status_code, archive.content
    remote = organisation.remote(person)
    refs = await git("ls-remote", remote, cwd=organisation.project.tree)
    found["refs"] = [line for line in refs.splitlines() if "refs/pipelines" not in line or line.endswith(f"/{done}")]
    clone = organisation.project.tree.with_name(f"clone-{person.pod}")
    await git("clone", "-q", remote, clone, cwd=organisation.project.tree)
    found["files"] = {file.name: file.read_text() for file in clone.iterdir() if file.is_file()}
    return found


_OF_THE_POD: Final = frozenset(
    {"user", "owner", "runner", "runner_manager", "last_activity_at", "creator_id", "contacted_at", "ip_address"}
    | {"status", "online", "author", "_links", "last_used", "runners_token", "permissions", "updated_at"}
)


def _comparable(value: Any) -> Any:
    if isinstance(value, list):
        return [_comparable(each) for each in value]
    if isinstance(value, dict):
        return {name: _comparable(each) for name, each in value.items() if name not in _OF_THE_POD}
    return value
