"""Three pods beside each other, each with organisations, projects, and one of every kind of key."""

import base64
import shutil
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import httpx

from api.app import create_app
from application.pods.cluster import Cluster, public_keys
from auth.session_token import COOKIE, cookie_of, issue_session
from domain.pods.directory import Directory, Pod, placed
from models.repositories.accounts import visits
from pods.directory_client import DirectoryClient
from pods.directory_follower import DirectoryFollower
from pods.pod_client import PodClient
from settings import RateLimits
from tests.api.v4.site import Site, open_site
from tests.application.bridges.two_pods import Line

PODS: Final = {"default": 0, "one": 1, "seven": 7}
ORGANISATIONS: Final = 3
PROJECTS: Final = 3
CONFIG: Final = "job: {script: make}\n"


@dataclass(frozen=True, slots=True)
class Key:
    """Something that opens what is of one pod, and, but for the administrator's, of one organisation or project."""

    kind: str
    headers: Mapping[str, str]
    pod: int
    organisation_id: int = 0
    project_id: int = 0
    query: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Resource:
    """A private thing, and a call that shows it."""

    method: str
    path: str
    pod: int
    organisation_id: int
    project_id: int = 0
    query: Mapping[str, str] = field(default_factory=dict)


def token(kind: str, plain: str, pod: int, organisation_id: int = 0, project_id: int = 0) -> Iterator[Key]:
    """An access token, in each place where it may stand."""
    for headers in (
        {"private-token": plain},
        {"authorization": f"Bearer {plain}"},
        {"authorization": basic("ada", plain)},
    ):
        yield Key(kind, headers, pod, organisation_id, project_id)


def basic(username: str, password: str) -> str:
    return "Basic " + base64.b64encode(f"{username}:{password}".encode()).decode()


@dataclass
class Pods:
    """The pods, what is in them, and the directory that knows of both."""

    sites: dict[int, Site] = field(default_factory=dict)
    keys: list[Key] = field(default_factory=list)
    resources: list[Resource] = field(default_factory=list)
    organisations: dict[str, int] = field(default_factory=dict)

    @property
    def directory(self) -> Directory:
        pods = tuple(
            Pod(number, name, f"{name}:1", public_keys=tuple(public_keys((self.sites[number].services.key,))["keys"]))
            for name, number in PODS.items()
        )
        return Directory(1, pods, placed(self.organisations.items()))

    async def fill(self, number: int) -> None:
        """Put everything into one pod."""
        site = self.sites[number]
        async with site.client(site.root) as client:
            routable = await made(client, "/user/personal_access_tokens", name="t", scopes=["api", "read_repository"])
            self.keys += token("administrator", routable["token"], number)
            for index in range(ORGANISATIONS):
                group = await made(client, "/groups", name=f"g{index}", path=f"pod{number}-{index}")
                self.organisations[group["full_path"]] = number
                await self._organisation(site, client, number, group)

    async def _organisation(self, site: Site, client: httpx.AsyncClient, number: int, group: dict[str, Any]) -> None:
        key, name = group["id"], group["full_path"]
        of = {"organisation_id": key}
        self.resources += [
            Resource("GET", path, number, key)
            for path in (
                f"/api/v4/groups/{key}",
                f"/api/v4/groups/{name}",
                f"/api/v4/groups/{key}/members",
                f"/groups/{name}",
            )
        ]
        person = await made(
            client, "/users", username=f"u-{name}", name="U", email=f"{name}@x.example", password="not a word 1"
        )
        await made(client, f"/groups/{key}/members", user_id=person["id"], access_level=30)
        scopes = {"name": "t", "scopes": ["api", "read_repository"]}
        plain = (await made(client, f"/users/{person['id']}/impersonation_tokens", **scopes))["token"]
        self.keys += token("member", plain, number, **of)
        session = issue_session(site.services.key, person["id"], site.services.clock())
        self.keys.append(Key("session", {"cookie": f"{COOKIE}={session}"}, number, **of))
        self.keys.append(Key("session of its pod", {"cookie": f"{cookie_of(number)}={session}"}, number, **of))
        visit = await self._visit(site, client, number, key)
        self.keys.append(Key("session of a visitor", {"cookie": f"{cookie_of(number)}={visit}"}, number, **of))
        bot = await made(client, f"/groups/{key}/access_tokens", **scopes, access_level=30)
        self.keys += token("bot of a group", bot["token"], number, **of)
        deploy = await made(client, f"/groups/{key}/deploy_tokens", name="d", scopes=["read_repository"])
        self.keys.append(Key("deploy", {"authorization": basic(deploy["username"], deploy["token"])}, number, **of))
        runner = await made(client, "/user/runners", runner_type="group_type", group_id=key)
        self.keys.append(Key("runner", {"runner-token": runner["token"]}, number, **of))
        self.resources.append(Resource("GET", f"/api/v4/runners/{runner['id']}", number, key))
        for index in range(PROJECTS):
            project = await made(client, "/projects", name=f"p{index}", path=f"p{index}", namespace_id=key)
            await self._project(site, client, number, project, runner["token"], key)

    async def _visit(self, site: Site, client: httpx.AsyncClient, number: int, group: int) -> str:
        """The session of a member of a group who is at home in another pod."""
        home, now = next(other for other in PODS.values() if other != number), site.services.clock()
        values = {"name": "V", "email": "", "home_pod": home, "home_id": group}
        async with site.services.database.write() as connection:
            key = await visits.add(connection, f"v-{group}", now, **values)
        assert key is not None
        await made(client, f"/groups/{group}/members", user_id=key, access_level=30)
        return issue_session(site.services.key, key, now, home=home)

    def join(self) -> None:
        """Let each pod know of the others, and reach them."""
        line = Line()
        for number, site in self.sites.items():
            services = site.services
            client = DirectoryClient("http://directory.test", str)  # nobody asks it
            follower = DirectoryFollower(client, services.settings.home / "directory.json")
            follower._directory = self.directory
            joined = replace(services, cluster=Cluster(number, (services.key,), client, follower, PodClient(line)))
            self.sites[number] = replace(site, services=joined, app=create_app(joined))
            line.apps[services.settings.pod] = httpx.ASGITransport(self.sites[number].app)

    async def _project(
        self,
        site: Site,
        client: httpx.AsyncClient,
        number: int,
        project: dict[str, Any],
        runner: str,
        organisation: int,
    ) -> None:
        key, path = project["id"], project["path_with_namespace"]
        of = {"organisation_id": organisation, "project_id": key}
        world = replace(site.world, project_id=key)
        await world.pipeline(CONFIG)
        job = (await world.request(runner)).json()
        assert (await world.put(job, "running")).status_code == 200
        scopes = {"name": "t", "scopes": ["api", "read_repository"]}
        bot = await made(client, f"/projects/{key}/access_tokens", **scopes, access_level=30)
        self.keys += token("bot of a project", bot["token"], number, **of)
        deploy = await made(client, f"/projects/{key}/deploy_tokens", name="d", scopes=["read_repository"])
        self.keys += [
            Key("deploy", {"authorization": basic(deploy["username"], deploy["token"])}, number, **of),
            Key("job", {"job-token": job["token"]}, number, **of),
            Key("job", {"authorization": basic("gitlab-ci-token", job["token"])}, number, **of),
        ]
        trigger = await made(client, f"/projects/{key}/triggers", description="d")
        quoted = path.replace("/", "%2F")
        paths = (
            *(f"/api/v4/projects/{name}{rest}" for name in (key, quoted) for rest in ("", "/pipelines", "/variables")),
            f"/api/v4/projects/{key}/jobs/{job['id']}",
            f"/api/v4/projects/{quoted}/jobs/{job['id']}/trace",
            f"/{path}",
            f"/{path}/-/pipelines",
        )
        self.resources += [Resource("GET", path, number, **of) for path in paths]
        service = {"service": "git-upload-pack"}
        self.resources.append(Resource("GET", f"/{path}.git/info/refs", number, **of, query=service))
        started = f"/api/v4/projects/{key}/trigger/pipeline"
        self.resources.append(Resource("POST", started, number, **of, query={"ref": "main"}))
        self.keys.append(Key("trigger", {}, number, **of, query={"token": trigger["token"]}))


async def made(client: httpx.AsyncClient, door: str, /, **body: Any) -> dict[str, Any]:
    """What a door has made."""
    response = await client.post(f"/api/v4{door}", json=body)
    assert response.status_code == 201, response.text
    document: dict[str, Any] = response.json()
    return document


@asynccontextmanager
async def three_pods(folder: Path, sqlite_file: Path) -> AsyncIterator[Pods]:
    """Three pods, each with a copy of an empty database of its own."""
    async with AsyncExitStack() as stack:
        cluster = Pods()
        for name, number in PODS.items():
            home = folder / name
            home.mkdir()
            shutil.copy(sqlite_file, home / "perdure.db")
            url = f"sqlite:///{home / 'perdure.db'}"
            unlimited = RateLimits(api_calls=0, anonymous_api_calls=0)
            site = open_site(home, url, pod=name, pod_number=number, rates=unlimited)
            cluster.sites[number] = await stack.enter_async_context(site)
            await cluster.fill(number)
        cluster.join()
        yield cluster
