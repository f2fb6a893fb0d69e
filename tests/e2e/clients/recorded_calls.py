"""What a client calls, written down so that it can be called again without it: `recorded/CLIENT.json`.

`PERDURE_RECORD=1` writes recordings anew when the clients run (`tests/e2e/test_clients_of_others.py`). In them stand
names for what differs from run to run: `{url}`, `{project}`, and commits by their titles.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import httpx
from aiohttp import web

from tests.e2e.clients.project import ClientProject

FOLDER: Final = Path(__file__).with_name("recorded")
_API: Final = "/api/v4"
_PUSH: Final = "/git-receive-pack"
_SHA: Final = re.compile(r"\b[0-9a-f]{40}\b")
_NAMED: Final = re.compile(r"\{commit ([^}]*)\}")
_SECRET: Final = re.compile(r"/uploads/[0-9a-f]{32}/")
_FORM: Final = "application/x-www-form-urlencoded"
_FILE: Final = re.compile(rb'name="file"; filename="([^"]+)"')

Call = dict[str, Any]
"""`method`, `path` with its query, `status`; perhaps `body`, `form` or `file`. A push: `ref`, a commit's title."""


@dataclass
class ClientCalls:
    """The calls of one client, in their order."""

    calls: list[Call] = field(default_factory=list)

    def note_request(self, request: web.Request, body: bytes) -> None:
        """Nothing: a call is written down with its status."""

    def note_response(
        self, request: web.Request, body: bytes, status: int, _headers: Mapping[str, str], _response: bytes
    ) -> None:
        """Write a call down; of git only pushes, of pages nothing."""
        if request.method == "POST" and request.path.endswith(_PUSH):
            self.calls += [{"ref": ref, "commit": new} for new, ref in _updates(body)]
        elif request.path.startswith(_API):
            call: Call = {"method": request.method, "path": request.path_qs.removeprefix(_API), "status": status}
            if (file := _FILE.search(body)) is not None:
                call["file"] = file[1].decode()
            elif request.content_type == _FORM:
                call["form"] = body.decode()
            elif body:
                call["body"] = json.loads(body)
            self.calls.append(call)

    async def named(self, project: ClientProject) -> list[Call]:
        """The calls with names for what differs from run to run."""
        await project.git("fetch", "-q", "origin", "+refs/heads/*:refs/there/*", "+refs/tags/*:refs/there/tags/*")
        text = json.dumps(self.calls).replace(project.url, "{url}")
        text = re.sub(rf"/projects/{project.id}\b", "/projects/{project}", text)
        text = _SECRET.sub("/uploads/{secret}/", text)
        for sha in sorted(set(_SHA.findall(text))):
            title = await project.git("log", "-1", "--format=%s", sha)
            text = text.replace(sha, f"{{commit {title}}}")
        found: list[Call] = json.loads(text)
        return found


def _updates(body: bytes) -> list[tuple[str, str]]:
    """New commits and refs of a push: the lines at the begin of its body."""
    found, at = [], 0
    while (size := int(body[at : at + 4], 16)) != 0:
        line = body[at + 4 : at + size].partition(b"\0")[0].decode().strip()
        found.append((line.split()[1], line.split()[2]))
        at += size
    return found


def recording(client: str) -> list[Call]:
    """What a client called when it was recorded."""
    found: list[Call] = json.loads((FOLDER / f"{client}.json").read_text())
    return found


def write(client: str, calls: list[Call]) -> None:
    """Write a recording anew."""
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / f"{client}.json").write_text("[\n" + ",\n".join(map(json.dumps, calls)) + "\n]\n")


def routes(calls: list[Call]) -> set[str]:
    """What was called, without queries and bodies."""
    return {_route(call) for call in calls}


def _route(call: Call) -> str:
    if "ref" in call:
        return f"push {call['ref']}"
    return f"{call['method']} {call['path'].partition('?')[0]} {call['status']}"


async def play(project: ClientProject, calls: list[Call]) -> list[str]:
    """Call all of it again; what was answered with another status than when it was recorded."""
    faults = []
    headers = {"PRIVATE-TOKEN": project.token}
    async with httpx.AsyncClient(headers=headers, trust_env=False, timeout=120) as client:
        for call in calls:
            if "ref" in call:
                await _push(project, call["ref"], call["commit"])
                continue
            path = await _filled(project, call["path"])
            more: dict[str, Any] = {}
            if "file" in call:
                more["files"] = {"file": (call["file"], b"content")}
            elif "form" in call:
                more = {"content": await _filled(project, call["form"]), "headers": {"Content-Type": _FORM}}
            elif "body" in call:
                text = await _filled(project, json.dumps(call["body"]))
                more = {"content": text, "headers": {"Content-Type": "application/json"}}
            response = await client.request(call["method"], project.api + path, **more)
            if response.status_code != call["status"]:
                told = f"{response.status_code}, not {call['status']}: {response.text[:300]}"
                faults.append(f"{call['method']} {path}: {told}")
    return faults


async def _push(project: ClientProject, ref: str, title: str) -> None:
    """Push a ref as the client did: to the commit of this title, which is made if it is not there."""
    name = _NAMED.fullmatch(title)
    assert name is not None, title
    if not await _sha_of(project, name[1]):
        await project.git("commit", "-q", "--allow-empty", "-m", name[1])
    await project.git("push", "-q", "origin", f"{await _sha_of(project, name[1])}:{ref}")


async def _sha_of(project: ClientProject, title: str) -> str:
    lines = (await project.git("log", "--all", "--reflog", "--format=%H %s")).splitlines()
    return next((line.partition(" ")[0] for line in lines if line.partition(" ")[2] == title), "")


async def _filled(project: ClientProject, text: str) -> str:
    text = text.replace("{url}", project.url).replace("{project}", str(project.id)).replace("{secret}", "0" * 32)
    for title in set(_NAMED.findall(text)):
        text = text.replace(f"{{commit {title}}}", await _sha_of(project, title))
    return text
