"""Two installations that are pods of one cluster; the test is every runner, and the line between them."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
from sqlalchemy import update

from application.pods.cluster import Cluster, public_keys
from domain.pods.claims import ClaimKind
from domain.pods.directory import Directory, Pod
from loops.cross_pod import CrossPodLoop
from models.repositories.accounts import accounts, members
from models.repositories.installation import name_claims
from models.repositories.pipelines import outbox
from pods.directory_client import DirectoryClient
from pods.directory_follower import DirectoryFollower
from pods.pod_client import PodClient
from tests.application.bridges.installation import Installation, open_installation
from tests.models.world import outbox_table, pipeline

NAMES = ("near", "far")
PERSON = "ada"
"""At home in the near pod, and a visitor in the far one."""
BUILD = {".gitlab-ci.yml": "build: {script: make}\n"}


class Line(httpx.AsyncBaseTransport):
    """The way between pods. A request is lost before it arrives, or its response is, as often as a test says."""

    def __init__(self) -> None:
        self.apps: dict[str, httpx.ASGITransport] = {}
        self.seen: list[tuple[str, str]] = []
        self.statuses: list[int] = []
        self.lose_requests = self.lose_responses = 0
        self.before: Callable[[httpx.Request], Awaitable[None]] | None = None

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Carry a call."""
        self.seen.append((request.method, f"{request.url.host}{request.url.path}"))
        if self.before is not None:
            await self.before(request)
        if self.lose_requests:
            self.lose_requests -= 1
            raise httpx.ConnectError("cut")
        response = await self.apps[request.url.host].handle_async_request(request)
        content = await response.aread()
        self.statuses.append(response.status_code)
        if self.lose_responses:
            self.lose_responses -= 1
            raise httpx.ReadError("cut")
        return httpx.Response(response.status_code, headers=response.headers, stream=httpx.ByteStream(content))


@dataclass
class OnePod:
    """A pod, with what is carried out there for others."""

    here: Installation
    cluster: Cluster
    loop: CrossPodLoop

    async def carry_out(self) -> int:
        """Carry out bridges, workflows, and what is due for the other pod; how many calls that were."""
        await self.here.carry_out()
        done = await self.loop.carry_out_due()
        await self.here.carry_out()
        return done


@dataclass
class TwoPods:
    """The cluster."""

    near: OnePod
    far: OnePod
    line: Line
    directory: Directory
    ada: int
    """The account of the person in the near pod."""
    visitor: int
    """That in the far one."""
    organisations: dict[str, int] = field(default_factory=dict)

    @property
    def target(self) -> int:
        """The far pod's project."""
        return self.far.here.site.world.project_id

    async def target_path(self) -> str:
        """Its path."""
        return await self.far.here.path(self.target)

    async def begin(self, keys: str = "", files: Mapping[str, str] = BUILD, **request: Any) -> int:
        """A pipeline of the near pod, run by the person, whose bridge triggers the far project; nothing is sent yet."""
        await self.far.here.commit(self.target, dict(files))
        config = f"go: {{trigger: {{project: {await self.target_path()}{keys}}}}}\n"
        values = {"user_id": self.ada, **request}
        return await self.near.here.begin({".gitlab-ci.yml": config}, **values)

    async def carry_out(self) -> None:
        """All that is due in both pods."""
        while await self.near.carry_out() + await self.far.carry_out():
            pass

    async def again(self) -> None:
        """What waits for another try is due now, and done."""
        for pod in (self.near, self.far):
            await pod.here.due_now()
        await self.carry_out()

    async def bridge(self, pipeline_id: int) -> Any:
        """The bridge of a near pipeline."""
        return await self.near.here.named(pipeline_id, "go")

    async def made(self) -> list[Any]:
        """Pipelines of the far pod."""
        return list(await self.far.here.world.rows(pipeline))

    async def owed(self) -> list[Any]:
        """What is still to be asked of the other pod, or told, in either."""
        found: list[Any] = []
        for pod in (self.near, self.far):
            for kind in outbox.TO_PODS:
                found += await pod.here.world.rows(outbox_table, kind=kind)
        return found

    async def set_account(self, **values: Any) -> None:
        """Change the visitor's account."""
        if not values:
            return
        async with self.far.here.world.database.write() as connection:
            await connection.execute(update(accounts.user).where(accounts.user.c.id == self.visitor).values(**values))


@asynccontextmanager
async def two_pods(folder: Path, database_urls: tuple[str, str]) -> AsyncIterator[TwoPods]:
    """Two pods, each with an organisation, in whose projects the person may run pipelines."""
    line = Line()
    async with AsyncExitStack() as exits:
        opened = []
        for number, (name, url) in enumerate(zip(NAMES, database_urls, strict=True)):
            (folder / name).mkdir()
            opened.append(
                await exits.enter_async_context(open_installation(folder / name, url, pod=name, pod_number=number))
            )
        organisations = {PERSON: 0}
        pods, ids = [], []
        for number, here in enumerate(opened):
            services = here.site.services
            path = await here.path(here.world.project_id)
            organisations[path.partition("/")[0]] = number
            keys = tuple(public_keys((services.key, services.identity_keys))["keys"])
            pods.append(Pod(number, NAMES[number], f"{NAMES[number]}:1", public_keys=keys))
            line.apps[NAMES[number]] = httpx.ASGITransport(here.site.app)
            async with services.database.write() as connection:
                person = (PERSON, "Ada", f"{PERSON}@example.com")
                ids.append(await accounts.create_user(connection, *person, services.clock()))
                await members.add_to_project(connection, here.world.project_id, ids[-1], 40)
                if number:
                    await accounts.change(connection, ids[-1], home_pod=0, home_id=ids[0])
                else:
                    await name_claims.adopt(connection, "claim", ClaimKind.PATH, PERSON, None, here.world.now())
        directory = Directory(1, tuple(pods), organisations)
        parts = [await _joined(exits, here, number, directory, line) for number, here in enumerate(opened)]
        yield TwoPods(parts[0], parts[1], line, directory, ids[0], ids[1], organisations)


async def _joined(exits: AsyncExitStack, here: Installation, number: int, directory: Directory, line: Line) -> OnePod:
    """A pod that has heard of the directory."""
    services = here.site.services
    client = await exits.enter_async_context(DirectoryClient("http://directory", lambda: ""))
    follower = DirectoryFollower(client, services.settings.home / "directory.json")  # it asks nobody
    follower._directory = directory
    cluster = Cluster(number, (services.key, services.identity_keys), client, follower, PodClient(line))
    exits.push_async_callback(cluster.pods.close)
    object.__setattr__(services, "cluster", cluster)
    exits.callback(object.__setattr__, services, "cluster", None)
    return OnePod(here, cluster, CrossPodLoop(services, cluster))
