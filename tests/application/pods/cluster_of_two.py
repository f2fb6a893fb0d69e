"""Two pods with databases of their own and one directory, all in this process."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
from sqlalchemy import select

from api.services import Services
from api.startup import close_services, open_services
from application.pods import names
from application.pods.cluster import Cluster, signature
from loops.directory import DirectoryLoop
from models.clock import system_clock
from models.repositories.accounts import accounts
from models.repositories.installation.name_claims import name_claim
from models.repositories.namespaces import namespaces
from pods.directory.doors import create_app
from pods.directory_client import DirectoryClient
from pods.directory_follower import DirectoryFollower
from settings import Settings
from tests.pods.directory.served import Served, public_keys, served


class Line(httpx.AsyncBaseTransport):
    """The way to the directory, which can be cut."""

    def __init__(self, directory: Served) -> None:
        self._inner = httpx.ASGITransport(create_app(directory.parts))
        self.is_cut = False

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if self.is_cut:
            raise httpx.ConnectError("cut")
        return await self._inner.handle_async_request(request)


@dataclass
class Clock:
    """The time, and how much later a test wants it to be."""

    later: timedelta = field(default_factory=timedelta)

    def __call__(self) -> datetime:
        return system_clock() + self.later


@dataclass
class OnePod:
    """A pod of the cluster."""

    services: Services
    cluster: Cluster
    line: Line
    clock: Clock
    number: int

    async def add_group(self, path: str) -> int:
        """A top-level group, as the door makes it."""
        async with names.claimed(self.services, names.path(path)) as claimed:
            return await self.write_group(path, claimed)

    async def write_group(self, path: str, claimed: names.ClaimedNames) -> int:
        """The transaction of that."""
        async with self.services.database.write() as connection:
            key = await namespaces.create(connection, path, path, self.clock())
            await claimed.use(connection, key)
        return key

    async def add_person(self, username: str, email: str) -> None:
        """A person, likewise."""
        wanted = (names.path(username), names.email(email))
        async with names.claimed(self.services, *wanted) as claimed, self.services.database.write() as connection:
            await accounts.create_user(connection, username, username, email, self.clock())
            await claimed.use(connection)

    async def round(self) -> None:
        """A process that has just been started looks after what others have left."""
        await DirectoryLoop(self.services, self.cluster).round()

    async def used(self) -> set[str]:
        """Every name that something of this pod has."""
        async with self.services.database.read() as connection:
            groups = select(namespaces.namespace.c.full_path).where(namespaces.namespace.c.parent_id.is_(None))
            found = set((await connection.execute(groups)).scalars())
            for row in await connection.execute(select(accounts.user.c.username, accounts.user.c.email)):
                found |= set(row)
        return {name.lower() for name in found}

    async def states(self) -> dict[str, str]:
        """What the pod knows of its claims: their states by name."""
        async with self.services.database.read() as connection:
            rows = await connection.execute(select(name_claim.c.name, name_claim.c.state))
            return {row.name: row.state for row in rows}


@dataclass
class Two:
    """The cluster."""

    directory: Served
    pods: tuple[OnePod, OnePod]

    async def claims(self, pod: OnePod) -> dict[str, str]:
        """What the directory has of a pod's claims: their states by name, but for those that were released."""
        status, found = await self.directory.call("GET", f"/v1/claims?pod={pod.number}")
        assert status == 200, found
        return {claim["name"]: claim["state"] for claim in found if claim["state"] != "released"}

    async def require_agreement(self) -> None:
        """The directory has confirmed exactly what something of a pod has; the pods know, and nothing is under way."""
        for pod in self.pods:
            used = await pod.used()
            assert await self.claims(pod) == dict.fromkeys(used, "confirmed")
            assert await pod.states() == dict.fromkeys(used, "confirmed")


@asynccontextmanager
async def cluster_of_two(folder: Path, database_urls: tuple[str, str] = ("", "")) -> AsyncIterator[Two]:
    """Two pods that have told the directory of what they began with."""
    async with AsyncExitStack() as exits:
        directory = await exits.enter_async_context(served(folder / "directory"))
        pods = []
        for number, url in enumerate(database_urls):
            pods.append(await _opened(exits, directory, folder, number, url))
        for pod in pods:
            await pod.round()
        first, second = pods
        yield Two(directory, (first, second))


async def _opened(exits: AsyncExitStack, directory: Served, folder: Path, number: int, url: str) -> OnePod:
    name = f"pod-{number}"
    settings = Settings(home=folder / name, pod=name, pod_number=number, database_url=url)
    clock = Clock()
    opened = await open_services(settings, clock)
    exits.push_async_callback(close_services, opened)
    exits.callback(opened.compilers.shutdown)
    body: dict[str, Any] = {"name": name, "address": "127.0.0.1:1", "public_keys": public_keys(opened.key)}
    status, document = await directory.call("PUT", f"/v1/pods/{number}", body=body)
    assert status == 200, document
    line = Line(directory)
    client = await exits.enter_async_context(DirectoryClient("http://directory", signature(opened.key), line))
    follower = DirectoryFollower(client, settings.home / "directory.json")  # not opened: nothing here asks for changes
    cluster = Cluster(number, (opened.key, opened.identity_keys), client, follower)
    return OnePod(replace(opened, cluster=cluster), cluster, line, clock, number)


class Killed(BaseException):
    """The process is gone: nothing tidies up after it."""
