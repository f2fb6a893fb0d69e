"""Three whole pods and their directory in this process, and a browser that reaches them by the decision of a router."""

import shutil
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import httpx

from api.app import create_app
from application.pods.cluster import Cluster, signature
from domain.pods.directory import Directory
from domain.pods.routing import Head, NeedsBody, ToPod, decide, decide_by_body
from loops.directory import DirectoryLoop
from models.repositories.accounts import accounts
from pods.directory_client import DirectoryClient
from pods.directory_follower import DirectoryFollower
from pods.router import field_in
from tests import forms
from tests.api.v4.declared_responses import DeclaredResponses
from tests.api.v4.site import Site, open_site
from tests.application.pods.cluster_of_two import Line
from tests.pods.directory.served import Served, public_keys, served

NAMES: Final = {0: "home", 1: "away", 2: "third"}
DOMAIN: Final = "pods.test"
URL: Final = f"http://{DOMAIN}"
PASSWORD: Final = "correct horse"


class Routed(httpx.AsyncBaseTransport):
    """The router: each request goes where the decision says."""

    def __init__(self, pods: "Pods") -> None:
        self._pods = pods

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        directory, path = self._pods.known, request.url.raw_path.decode().partition("?")[0]
        decision = decide(Head(request.method, path, request.headers), directory)
        if isinstance(decision, NeedsBody):
            decision = decide_by_body(field_in(await request.aread(), decision.field), directory, decision)
        assert isinstance(decision, ToPod), decision
        self._pods.went.append((decision.pod, path))
        if decision.pod in self._pods.away:
            return httpx.Response(503, request=request)
        return await httpx.ASGITransport(self._pods.sites[decision.pod].app).handle_async_request(request)


@dataclass
class Pods:
    """The cluster. `went` has the pods that requests of browsers came to, with their paths; `away` are gone."""

    directory: Served
    sites: dict[int, Site] = field(default_factory=dict)
    clusters: dict[int, Cluster] = field(default_factory=dict)
    lines: dict[int, Line] = field(default_factory=dict)
    went: list[tuple[int, str]] = field(default_factory=list)
    away: set[int] = field(default_factory=set)

    @property
    def known(self) -> Directory:
        found = self.clusters[0].directory
        assert found is not None
        return found

    def browser(self, cookies: Mapping[str, str] | None = None) -> httpx.AsyncClient:
        """One that is at our pages, with these cookies."""
        headers = {"Accept": "text/html", "Origin": URL, **forms.TOKEN}
        browser = httpx.AsyncClient(transport=Routed(self), base_url=URL, headers=headers, follow_redirects=True)
        for name, value in {**forms.COOKIES, **(cookies or {})}.items():
            browser.cookies.set(name, value, domain=DOMAIN)
        return browser

    async def hear(self) -> None:
        """Let every pod tell the directory of its names, and hear what the others have told."""
        for number, site in self.sites.items():
            await DirectoryLoop(site.services, self.clusters[number]).round()
        for cluster in self.clusters.values():
            await cluster.follower._take(await cluster.client.changes())

    async def add_person(self, pod: int, username: str, **values: Any) -> int:
        """Somebody who is at home in a pod, and has a password."""
        site = self.sites[pod]
        body = {"username": username, "name": username.title(), "email": f"{username}@example.com", **values}
        document = await self.made(pod, "/users", password=PASSWORD, **body)
        async with site.services.database.write() as connection:
            hashed = site.services.passwords.hashed_lightly(PASSWORD)
            await accounts.change(connection, document["id"], password_hash=hashed)
        await self.hear()
        return int(document["id"])

    async def made(self, pod: int, door: str, status: int = 201, **body: Any) -> Any:
        """What an administrator of a pod makes."""
        async with self.sites[pod].client(self.sites[pod].root) as client:
            response = await client.post(f"/api/v4{door}", json=body)
        assert response.status_code == status, response.text
        return response.json()

    async def project(self, pod: int, group: str, visibility: str = "private") -> str:
        """The path of a project of a new organisation."""
        made = await self.made(pod, "/groups", name=group, path=group, visibility="public")
        where = {"namespace_id": made["id"], "visibility": visibility}
        found = await self.made(pod, "/projects", name="app", path="app", **where)
        await self.hear()
        return str(found["path_with_namespace"])

    async def sign_in(self, browser: httpx.AsyncClient, username: str) -> httpx.Response:
        return await browser.post("/users/sign_in", data={"username": username, "password": PASSWORD})


@asynccontextmanager
async def pods_of_a_cluster(folder: Path, migrated_file: Path) -> AsyncIterator[Pods]:
    """All of it, with nobody in it but the administrators, who have one name in each pod."""
    async with AsyncExitStack() as exits:
        pods = Pods(await exits.enter_async_context(served(folder / "directory")))
        for number, name in NAMES.items():
            await _open(exits, pods, folder / name, migrated_file, number)
        await pods.hear()
        yield pods
        for site in pods.sites.values():
            site.watch.require()


def _database(folder: Path, migrated_file: Path) -> str:
    folder.mkdir()
    return f"sqlite:///{shutil.copy(migrated_file, folder / 'perdure.db')}"


async def _open(exits: AsyncExitStack, pods: Pods, folder: Path, migrated_file: Path, number: int) -> None:
    database_url = _database(folder, migrated_file)
    opening = open_site(folder, database_url, pod=NAMES[number], pod_number=number)
    opened = await exits.enter_async_context(opening)
    services, line = opened.services, Line(pods.directory)
    body = {"name": NAMES[number], "address": "127.0.0.1:1", "public_keys": public_keys(services.key)}
    status, document = await pods.directory.call("PUT", f"/v1/pods/{number}", body=body)
    assert status == 200, document
    client = await exits.enter_async_context(DirectoryClient("http://directory", signature(services.key), line))
    follower = DirectoryFollower(client, services.settings.home / "directory.json")
    cluster = Cluster(number, (services.key, services.identity_keys), client, follower)
    settings = services.settings.model_copy(update={"external_url": URL})
    joined = replace(services, cluster=cluster, settings=settings)
    app = DeclaredResponses(create_app(joined))
    pods.sites[number] = replace(opened, services=joined, app=app, watch=app)
    pods.clusters[number], pods.lines[number] = cluster, line
