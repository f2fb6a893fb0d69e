"""A server that answers as GitLab documents it, and serves one repository to git; it notes who asked for what."""

from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote

from aiohttp import BasicAuth, web

from rigs.ports import LOCAL, free_port
from tests.cli.importing import gitlab_documents as documents
from tests.git.serving import git, new_work_tree

TOKEN: Final = "glpat-s0urce.t0ken_of-tests"
_UNCOUNTED: Final = frozenset({"pipelines"})
"""Lists that are too long to be counted: no `x-total`."""
_BY_KEYSET: Final = frozenset({"variables"})
"""Lists whose pages only a `Link` leads to, and at another address than was asked."""
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass
class Gitlab:
    """The server. Its documents may be changed; `limits` says of a path how often it is answered 429 first."""

    repository: Path
    project: dict[str, Any] = field(default_factory=documents.project)
    lists: dict[str, list[dict[str, Any]]] = field(default_factory=lambda: {**documents.LISTS})
    forbidden: set[str] = field(default_factory=lambda: set(documents.FORBIDDEN))
    limits: Counter[str] = field(default_factory=Counter)
    links: str = ""
    """The address in `Link` headers; its own without one."""
    url: str = ""
    asked: list[tuple[str, str]] = field(default_factory=list)
    tokens: set[str] = field(default_factory=set)

    def application(self) -> web.Application:
        """The routes."""
        application = web.Application(middlewares=[self._note])
        home = r"/api/v4/projects/{project:[^/]+}"
        application.router.add_get(home, self._project)
        application.router.add_get(home + "/pipeline_schedules/{id}", self._schedule)
        application.router.add_get(home + "/{list:.+}", self._list)
        application.router.add_get("/api/v4/groups/{group:[^/]+}", self._group)
        application.router.add_get("/api/v4/groups/{group:[^/]+}/variables", self._group_variables)
        application.router.add_get("/{path:.+?}.git/{file:.+}", self._file)
        return application

    @web.middleware
    async def _note(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        self.asked.append((request.method, request.path_qs))
        shown = request.headers.get("PRIVATE-TOKEN", "")
        if "Authorization" in request.headers:
            shown = BasicAuth.decode(request.headers["Authorization"]).password
        self.tokens.add(shown)
        if shown != TOKEN:
            headers = {"WWW-Authenticate": 'Basic realm="GitLab"'}
            return web.json_response({"message": f"401 Unauthorized: {shown}"}, status=401, headers=headers)
        if self.limits[request.path] > 0:
            self.limits[request.path] -= 1
            headers = {"Retry-After": "0", "RateLimit-Remaining": "0"}
            return web.Response(text="Retry later\n", status=429, headers=headers)
        return await handler(request)

    async def _project(self, request: web.Request) -> web.StreamResponse:
        if unquote(request.match_info["project"]) not in {str(self.project["id"]), self.project["path_with_namespace"]}:
            return web.json_response({"message": "404 Project Not Found"}, status=404)
        return web.json_response(self.project)

    async def _schedule(self, request: web.Request) -> web.StreamResponse:
        found = next(one for one in self.lists["pipeline_schedules"] if str(one["id"]) == request.match_info["id"])
        return web.json_response({**found, **documents.SCHEDULE_DETAILS})

    async def _list(self, request: web.Request) -> web.StreamResponse:
        name = request.match_info["list"]
        if name in self.forbidden:
            return web.json_response({"message": "403 Forbidden"}, status=403)
        if name not in self.lists:
            return web.json_response({"error": "404 Not Found"}, status=404)
        size = int(request.query.get("per_page", 20))
        page = int(request.query.get("cursor", request.query.get("page", 1)))
        items = self.lists[name]
        shown = items[(page - 1) * size : page * size]
        more = page * size < len(items)
        address = f"{self.links or self.url}{request.path}?id=4&per_page={size}"
        headers = {"x-per-page": str(size)}
        if name in _BY_KEYSET:
            headers |= {"Link": f'<{address}&cursor={page + 1}>; rel="next"'} if more else {}
            return web.json_response(shown, headers=headers)
        headers |= {"x-next-page": str(page + 1) if more else "", "x-page": str(page)}
        headers |= {} if name in _UNCOUNTED else {"x-total": str(len(items))}
        headers["Link"] = f'<{address}&page=1>; rel="first", <{address}&page={page + 1}>; rel="next"'
        return web.json_response(shown, headers=headers)

    async def _group(self, request: web.Request) -> web.StreamResponse:
        path = unquote(request.match_info["group"])
        name = path.rpartition("/")[2].title()
        return web.json_response(
            {"id": 2, "name": name, "full_path": path, "visibility": "internal", "description": "D"}
        )

    async def _group_variables(self, request: web.Request) -> web.StreamResponse:
        if unquote(request.match_info["group"]) == "diaspora":
            return web.json_response({"message": "403 Forbidden"}, status=403)
        return web.json_response([documents.variable("OF_GROUP", "group-s3cret")])

    async def _file(self, request: web.Request) -> web.StreamResponse:
        """A file of the repository, which is how git clones without help of a server."""
        file = self.repository / request.match_info["file"]
        right = request.match_info["path"] == self.project["path_with_namespace"]
        return web.FileResponse(file) if right and file.is_file() else web.Response(status=404)


@asynccontextmanager
async def serving_gitlab(folder: Path) -> AsyncIterator[Gitlab]:
    """The server with a repository of two branches and a tag."""
    tree, bare = folder / "theirs", folder / "theirs.git"
    await new_work_tree(tree, {".gitlab-ci.yml": "a: {script: x}\n", ".gitattributes": "*.bin filter=lfs\n"})
    await git("tag", "v1", cwd=tree)
    await git("branch", "fix/a", cwd=tree)
    await git("clone", "-q", "--bare", tree, bare, cwd=folder)
    await git("update-server-info", cwd=bare)
    gitlab = Gitlab(bare)
    async with serving_application(gitlab.application()) as url:
        gitlab.url = url
        yield gitlab


@asynccontextmanager
async def serving_application(application: web.Application) -> AsyncIterator[str]:
    """An application behind HTTP; its address."""
    runner = web.AppRunner(application)
    await runner.setup()
    port = free_port()
    await web.TCPSite(runner, LOCAL, port).start()
    try:
        yield f"http://{LOCAL}:{port}"
    finally:
        await runner.cleanup()
