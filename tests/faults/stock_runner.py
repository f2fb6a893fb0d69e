"""A runner that behaves as a stock one does while the server dies, and remembers what the server has acknowledged.

It speaks to the front, repeats what got 503 or no response under the same request id, goes on with its log where 416
says, sends all of it again after 412, and stamps lines (docs/reference/runner-protocol.md, "Job updates", "Log
upload", "Log text", "Artifacts and cache"; docs/reference/reliability.md, "What a stock runner survives").
"""

import asyncio
import zlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import jwt

from auth.job_token import PREFIX
from tests.git.serving import git
from tests.stamping import Stamper, stamped

Document = dict[str, Any]

_PATIENCE = 90.0
"""Seconds for which a call is repeated."""
_MAX_ATTEMPTS = 40
"""So often one request is sent, which is longer than a restart takes; then comes a new one with an id of its own."""
_AGAIN = 0.1
_PIECE = 64 * 1024


@dataclass
class Acknowledged:
    """What the server has said yes to, and what else it answered."""

    runners: list[str] = field(default_factory=list)
    """Tokens that must be good."""
    pipelines: list[int] = field(default_factory=list)
    given: list[Document] = field(default_factory=list)
    """Jobs, in the order in which they were handed out."""
    logs: dict[int, bytes] = field(default_factory=dict)
    files: dict[tuple[int, str], bytes] = field(default_factory=dict)
    """What was handed in, by job and type."""
    verdicts: dict[int, str] = field(default_factory=dict)
    odd: list[str] = field(default_factory=list)
    """Answers that no runner should see: 5xx other than 503."""


def hand_out(job: Document) -> int:
    """Which hand-out of its job a payload is."""
    claims = jwt.decode(job["token"].removeprefix(PREFIX), options={"verify_signature": False})
    return int(claims["hand_out"])


class StockRunner:
    """One runner; `said` is its history."""

    def __init__(self, client: httpx.AsyncClient, said: Acknowledged, token: str = "", *, stamps: bool = True) -> None:
        """`client` goes to the front; `token` is known if the runner is registered; older ones have no `stamps`."""
        self._client = client
        self._stamps = stamps
        self._said = said
        self.token = token

    async def call(self, method: str, path: str, *, parts: bytes | None = None, **options: Any) -> httpx.Response:
        """The response, once there is one; `parts` are sent piece by piece, without a length."""
        deadline = asyncio.get_running_loop().time() + _PATIENCE
        given, tries, request_id = options.pop("headers", {}), 0, uuid4().hex
        while True:
            tries += 1
            if tries % _MAX_ATTEMPTS == 0:
                request_id = uuid4().hex
            body: dict[str, Any] = {"content": _pieces(parts)} if parts is not None else {}
            headers = {**given, "X-Request-Id": request_id}
            try:
                response = await self._client.request(method, f"/api/v4{path}", headers=headers, **body, **options)
            except httpx.TransportError:
                response = None
            if response is not None and response.status_code < httpx.codes.INTERNAL_SERVER_ERROR:
                return response
            if response is not None and response.status_code != httpx.codes.SERVICE_UNAVAILABLE:
                self._said.odd.append(f"{method} {path}: {response.status_code} {response.text}")
            if asyncio.get_running_loop().time() > deadline:
                raise TimeoutError(f"{method} {path} was not answered: {response!r}")
            await asyncio.sleep(_AGAIN)

    async def register(self, registration_token: str, tag: str) -> None:
        """Become a runner for jobs with this tag."""
        wish = {"token": registration_token, "tag_list": tag, "run_untagged": False}
        response = await self.call("POST", "/runners", json=wish)
        assert response.status_code == httpx.codes.CREATED, response.text
        self.token = response.json()["token"]
        self._said.runners.append(self.token)

    async def rotate(self) -> None:
        """Get a new token in the place of the old one, and use it."""
        response = await self.call("POST", "/runners/reset_authentication_token", json={"token": self.token})
        assert response.status_code == httpx.codes.CREATED, response.text
        self._said.runners.remove(self.token)
        self.token = response.json()["token"]
        self._said.runners.append(self.token)

    async def job(self) -> Document | None:
        """Ask once."""
        question = {"token": self.token, "system_id": "s_stock", "last_update": "waiting"}
        response = await self.call("POST", "/jobs/request", json=question)
        if response.status_code != httpx.codes.CREATED:
            assert response.status_code == httpx.codes.NO_CONTENT, response.text
            return None
        job: Document = response.json()
        self._said.given.append(job)
        return job

    async def say(self, job: Document, state: str, log: bytes | None = None, **more: Any) -> httpx.Response:
        """One PUT: the state of a job, with the checksum of its log if that is given."""
        output = {} if log is None else {"checksum": f"crc32:{zlib.crc32(log):08x}", "bytesize": len(log)}
        body = {"token": job["token"], "state": state, "output": output, **more}
        return await self.call("PUT", f"/jobs/{job['id']}", json=body)

    async def accept(self, job: Document) -> None:
        """Say that the job begins."""
        response = await self.say(job, "running")
        assert response.status_code == httpx.codes.OK, response.text

    async def send(self, job: Document, log: bytes, start: int = 0) -> None:
        """Send what a job has printed so far, from one of its bytes on."""
        await self._send(job, self._written(log), len(self._written(log[:start])))

    def _written(self, log: bytes) -> bytes:
        return Stamper().write(log) if self._stamps else log

    async def _send(self, job: Document, log: bytes, start: int = 0) -> None:
        while start < len(log):
            piece = log[start : start + _PIECE]
            headers = {"JOB-TOKEN": job["token"], "Content-Range": f"{start}-{start + len(piece) - 1}"}
            response = await self.call("PATCH", f"/jobs/{job['id']}/trace", content=piece, headers=headers)
            if response.status_code == httpx.codes.ACCEPTED:
                start += len(piece)
            else:
                assert response.status_code == httpx.codes.REQUESTED_RANGE_NOT_SATISFIABLE, response.text
                start = int(response.headers["Range"].removeprefix("0-"))
            self._said.logs[job["id"]] = log[:start]

    async def fetch(self, job: Document, folder: Path) -> None:
        """Fetch the commit as the job's shell does; git itself repeats nothing, the job's GET_SOURCES_ATTEMPTS do."""
        await git("init", "-q", folder, cwd=folder.parent)
        about = job["git_info"]
        words = ["fetch", "-q", about["repo_url"], *about["refspecs"]]
        for _ in range(int(_PATIENCE)):
            try:
                await git(*words, cwd=folder)
            except AssertionError:
                await asyncio.sleep(1)
            else:
                break
        await git("checkout", "-f", "-q", about["sha"], cwd=folder)

    async def upload(self, job: Document, kind: str, file_format: str, content: bytes) -> None:
        """Hand in a file as a stream of unknown length."""
        head = b'--b\r\nContent-Disposition: form-data; name="file"; filename="f"\r\n\r\n'
        response = await self.call(
            "POST",
            f"/jobs/{job['id']}/artifacts",
            parts=head + content + b"\r\n--b--\r\n",
            params={"artifact_type": kind, "artifact_format": file_format},
            headers={"JOB-TOKEN": job["token"], "Content-Type": "multipart/form-data; boundary=b"},
        )
        assert response.status_code == httpx.codes.CREATED, response.text
        self._said.files[job["id"], kind] = content

    async def download(self, dependency: Document) -> bytes:
        """The archive of a job that another one needs."""
        headers = {"JOB-TOKEN": dependency["token"]}
        response = await self.call("GET", f"/jobs/{dependency['id']}/artifacts", headers=headers)
        assert response.status_code == httpx.codes.OK, response.text
        return response.content

    async def end(self, job: Document, log: bytes, state: str = "success", **more: Any) -> None:
        """Send what is missing of the log and the verdict, until the server has both."""
        log = stamped(log) if self._stamps else log
        while (response := await self.say(job, state, log, **more)).status_code == httpx.codes.PRECONDITION_FAILED:
            await self._send(job, log)
        assert response.status_code == httpx.codes.OK, response.text
        self._said.verdicts[job["id"]] = state


async def _pieces(content: bytes) -> AsyncIterator[bytes]:
    for start in range(0, len(content), _PIECE):
        yield content[start : start + _PIECE]
