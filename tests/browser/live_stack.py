"""The embedded stack as people meet it: front, Temporal, API with worker and a runner; doors of REST and git."""

import asyncio
import shutil
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import httpx

from domain.pipelines.status import COMPLETE
from tests.faults.stack import PATIENT, Stack, place_of_jobs
from tests.git.serving import git, new_commit
from tests.waiting import eventually

AT_REST: Final = frozenset({*COMPLETE, "manual", "scheduled"})
"""States in which a pipeline waits for nobody but people and clocks."""
PATIENCE: Final = 90.0
PASSWORD: Final = "correct horse battery"
"""Of everybody but root."""


@dataclass
class Person:
    """Somebody with an account: what they sign in with, and the REST API as they see it."""

    id: int
    username: str
    password: str
    token: str
    rest: "Rest"


class Rest:
    """The REST API as one person sees it; what is refused fails the test with the words of the refusal."""

    def __init__(self, client: httpx.AsyncClient, logs: Callable[[], str] = str) -> None:
        """`client` goes to `/api/v4` with a token; `logs` tell what the servers were doing when no response came."""
        self.client = client
        self._logs = logs

    async def call(self, method: str, route: str, **options: Any) -> Any:
        """The document of the response; None where there is none."""
        try:
            response = await self.client.request(method, route, **options)
        except httpx.TimeoutException as error:
            raise AssertionError(f"{method} {route}: no response\n{self._logs()}") from error
        assert response.is_success, f"{method} {route}: {response.status_code} {response.text[:2000]}"
        return response.json() if response.content else None

    async def get(self, route: str, **parameters: Any) -> Any:
        """Read something."""
        return await self.call("GET", route, params=parameters)

    async def listed(self, route: str) -> list[dict[str, Any]]:
        """A whole list."""
        found: list[dict[str, Any]] = []
        number = 1
        while items := await self.get(route, per_page=100, page=number):
            found += items
            number += 1
        return found

    async def post(self, route: str, **body: Any) -> Any:
        """Make or do something."""
        return await self.call("POST", route, json=body)

    async def put(self, route: str, **body: Any) -> Any:
        """Change something."""
        return await self.call("PUT", route, json=body)


class LiveStack:
    """What runs, and whoever uses it."""

    def __init__(self, stack: Stack, folder: Path, clients: AsyncExitStack) -> None:
        """`folder` takes work trees of git; `clients` closes what is opened."""
        self.stack = stack
        self.url = stack.settings.url
        self.folder = folder
        self._clients = clients
        self.root: Person
        self.sessions: dict[str, list[Any]] = {}
        """Cookies by user name."""
        self.paths: list[str] = []
        """Full paths of the projects."""

    def rest(self, token: str = "") -> Rest:
        """The API with a token."""
        headers = {"PRIVATE-TOKEN": token} if token else {}
        client = httpx.AsyncClient(base_url=f"{self.url}/api/v4", headers=headers, timeout=60, trust_env=False)
        return Rest(client, self.stack.logs)

    async def known(self, token: str) -> Rest:
        """The same, closed with the stack."""
        rest = self.rest(token)
        await self._clients.enter_async_context(rest.client)
        return rest

    async def person(self, username: str, name: str) -> Person:
        """A new account with a password and a token."""
        wish = {"username": username, "name": name, "email": f"{username}@example.org", "password": PASSWORD}
        made = await self.root.rest.post("/users", **wish)
        route = f"/users/{made['id']}/personal_access_tokens"
        token = (await self.root.rest.post(route, name="tests", scopes=["api"]))["token"]
        return Person(made["id"], username, PASSWORD, token, await self.known(token))

    async def project(self, owner: Person, namespace_id: int, name: str, **more: Any) -> dict[str, Any]:
        """A new project."""
        wish = {"name": name, "path": name.lower().replace(" ", "-"), "namespace_id": namespace_id, **more}
        made: dict[str, Any] = await owner.rest.post("/projects", **wish)
        self.paths.append(made["path_with_namespace"])
        return made

    async def push(
        self, who: Person, path: str, files: Mapping[str, str], message: str, *, branch: str = "main", options: str = ""
    ) -> str:
        """Commit files on a branch, a new one upon what was pushed to main; the sha of the commit."""
        tree = self.folder / quote(path, safe="")
        scheme, _, rest = self.url.partition("://")
        remote = f"{scheme}://{who.username}:{who.token}@{rest}/{path}.git"
        if not tree.exists():
            await git("init", "-q", "-b", "main", tree, cwd=self.folder)
        elif branch != await git("branch", "--show-current", cwd=tree):
            known = await git("branch", "--list", branch, cwd=tree)
            await git("checkout", "-q", *([branch] if known else ["-b", branch, "main"]), cwd=tree)
        sha = await new_commit(tree, dict(files), message)
        said = ["-o", options] if options else []
        await git("push", "-q", *said, remote, f"HEAD:refs/heads/{branch}", cwd=tree)
        return sha

    async def pipeline(self, who: Person, project_id: int, sha: str, source: str = "push") -> dict[str, Any]:
        """The pipeline of a commit, as soon as there is one."""
        route = f"/projects/{project_id}/pipelines"
        found = await eventually(lambda: who.rest.get(route, sha=sha, source=source), f"a pipeline of {sha}", PATIENCE)
        made: dict[str, Any] = found[0]
        return made

    async def rests(self, who: Person, project_id: int, pipeline_id: int, *states: str) -> dict[str, Any]:
        """The pipeline, once it is in one of these states; without any, when it waits for people alone."""
        route = f"/projects/{project_id}/pipelines/{pipeline_id}"

        async def look() -> dict[str, Any] | None:
            found: dict[str, Any] = await who.rest.get(route)
            return found if found["status"] in (states or AT_REST) else None

        try:
            return await eventually(look, f"pipeline {pipeline_id} rests", PATIENCE)
        except TimeoutError as error:
            jobs = await who.rest.listed(f"{route}/jobs")
            raise AssertionError([(job["name"], job["status"]) for job in jobs], self.stack.logs()) from error

    async def job(self, who: Person, project_id: int, pipeline_id: int, name: str) -> dict[str, Any]:
        """The latest attempt of a job."""
        jobs = await who.rest.listed(f"/projects/{project_id}/pipelines/{pipeline_id}/jobs")
        return next(job for job in jobs if job["name"] == name)


def work_folder(place: Path) -> Path:
    """An empty folder for work trees."""
    folder = place / "trees"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


@asynccontextmanager
async def live_stack(folder: Path, **variables: str) -> AsyncIterator[LiveStack]:
    """A stack from up to down, with further environment variables."""
    stack = Stack(folder / "home", {**PATIENT, **variables})
    with place_of_jobs() as place:
        async with AsyncExitStack() as clients:
            clients.push_async_callback(asyncio.to_thread, stack.down)  # what came up of one that did not, too
            await asyncio.to_thread(stack.up)
            live = LiveStack(stack, work_folder(place), clients)
            credentials = await asyncio.to_thread(stack.credentials)
            rest = await live.known(credentials["token"])
            user = await rest.get("/user")
            live.root = Person(user["id"], "root", credentials["password"], credentials["token"], rest)
            yield live
