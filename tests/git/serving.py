"""A small HTTP server over the functions under test, and a git client: what the web side will do, nothing more."""

import asyncio
import os
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

from aiohttp import web

from domain.errors import PerdureError
from git.repository import Repositories
from git.transport.push import Push, RefUpdate, applied, read_push, with_message
from git.transport.smart_http import Service, advertise, gunzip, protocol_version, serve

IDENTITY = {
    "GIT_AUTHOR_NAME": "Ada",
    "GIT_AUTHOR_EMAIL": "ada@example.com",
    "GIT_COMMITTER_NAME": "Bob",
    "GIT_COMMITTER_EMAIL": "bob@example.com",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_TEMPLATE_DIR": "",  # no sample hooks
    "LC_ALL": "C.UTF-8",
}


async def git(*arguments: str | Path, cwd: Path, code: int = 0, **environment: str) -> str:
    """Run a client's git in `cwd`, demand its exit code, and return stdout and stderr."""
    process = await asyncio.create_subprocess_exec(
        "git",
        *arguments,
        cwd=cwd,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        env={"PATH": os.environ["PATH"], "HOME": str(cwd), **IDENTITY, **environment},
    )
    out, _ = await process.communicate()
    assert process.returncode == code, out.decode()
    return out.decode().strip()


async def new_work_tree(folder: Path, files: dict[str, str]) -> str:
    """Make a repository with one commit on `main`; its sha."""
    await git("init", "-q", "-b", "main", folder, cwd=folder.parent)
    return await new_commit(folder, files)


async def new_commit(folder: Path, files: dict[str, str], message: str = "First\n\nBody ä") -> str:
    """Commit these files; the new sha."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    await git("add", ".", cwd=folder)
    await git("commit", "-q", "-m", message, cwd=folder)
    return await git("rev-parse", "HEAD", cwd=folder)


@dataclass
class GitServer:
    """Serves `/<project id>.git`; remembers the pushes, what was applied, and how requests were encoded."""

    repositories: Repositories
    message: str = ""
    pushes: list[Push] = field(default_factory=list)
    applied: list[RefUpdate] = field(default_factory=list)
    encodings: list[str] = field(default_factory=list)
    url: str = ""

    def application(self) -> web.Application:
        """The routes of smart HTTP."""
        application = web.Application(client_max_size=0)
        application.router.add_get("/{project}.git/info/refs", self.info_refs)
        application.router.add_post("/{project}.git/{service}", self.call)
        return application

    async def info_refs(self, request: web.Request) -> web.StreamResponse:
        """The first request of every fetch and push."""
        repository = self.repositories.get(int(request.match_info["project"]))
        service = Service(request.query["service"])
        response = advertise(repository, service, protocol_version(request.headers.get("Git-Protocol")))
        return await self.stream(request, response, f"application/x-{service}-advertisement")

    async def call(self, request: web.Request) -> web.StreamResponse:
        """The request that does it."""
        repository = self.repositories.get(int(request.match_info["project"]))
        service = Service(request.match_info["service"])
        encoding = request.headers.get("Content-Encoding", "")
        self.encodings.append(encoding)
        body: AsyncIterator[bytes] = raw_body(request)
        if encoding == "gzip":
            body = gunzip(body)
        version = protocol_version(request.headers.get("Git-Protocol"))
        kind = f"application/x-{service}-result"
        if service is Service.UPLOAD_PACK:
            return await self.stream(request, serve(repository, service, body, version), kind)
        try:
            push = await read_push(body)
            response = b"".join([chunk async for chunk in serve(repository, service, push.body, version)])
        except PerdureError as error:
            return web.Response(status=422, text=str(error))
        done = await applied(repository, push.commands, response)
        await repository.harden([update.ref for update in done])
        self.pushes.append(push)
        self.applied += done
        return web.Response(body=with_message(response, self.message) if self.message else response, content_type=kind)

    async def stream(self, request: web.Request, chunks: AsyncIterator[bytes], kind: str) -> web.StreamResponse:
        """Send the chunks as they come."""
        response = web.StreamResponse(headers={"Content-Type": kind, "Cache-Control": "no-cache"})
        await response.prepare(request)
        async for chunk in chunks:
            await response.write(chunk)
        await response.write_eof()
        return response


async def raw_body(request: web.Request) -> AsyncIterator[bytes]:
    """The body as it was sent."""
    async for chunk in request.content.iter_chunked(4096):
        yield chunk
