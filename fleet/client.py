"""The runner's side of the protocol: every call a runner makes.

Nothing here knows how a job is executed, so that a load generator can use it as it is.

Source: docs/reference/runner-protocol.md, "Registration", "Job request", "Job updates", "Log upload", "Artifacts and
cache".
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import aiohttp

from domain.errors import Forbidden, Invalid
from fleet.backoff import Backoff
from fleet.reply import JobAnswer, JobReply, Registration, read_patch, read_update
from fleet.transfer import Opener, download_archive, upload_file
from fleet.transport import Reply, Transport, send_bytes

JSON_TYPE = {"Content-Type": "application/json"}
JSON_BOTH = {**JSON_TYPE, "Accept": "application/json"}


@dataclass(frozen=True, slots=True)
class JobKey:
    """A job and the token that authorises calls for it."""

    id: int
    token: str


@dataclass(frozen=True, slots=True)
class Output:
    """Checksum and size of a whole log: CRC-32 and bytes."""

    crc: int
    size: int


@dataclass(frozen=True, slots=True)
class Upload:
    """A file to send and how the server shall know it."""

    file: Opener
    filename: str
    artifact_type: str
    artifact_format: str
    expire_in: str = ""


class RunnerClient:
    """One registered runner talking to one server.

    All calls try again for as long as the server is away; `give_up_after` (seconds) ends that with Unavailable.
    """

    def __init__(
        self,
        url: str,
        token: str,
        *,
        system_id: str,
        info: Mapping[str, Any],
        backoff: Backoff | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        session: aiohttp.ClientSession | None = None,
        tls_ca_file: Path | None = None,
    ) -> None:
        """`url` is the server's address as users see it; `info` is `features.runner_info()`."""
        self.url = url
        self.base = api_base(url)
        self.token = token
        self.system_id = system_id
        self.info = info
        self.backoff = backoff or Backoff()
        self.sleep = sleep
        self._transport = Transport(backoff=self.backoff, sleep=sleep, session=session, tls_ca_file=tls_ca_file)
        self._request_body = ("", self._job_request(""))

    async def __aenter__(self) -> Self:
        """Nothing is opened before the first call."""
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close the connections."""
        await self.close()

    async def close(self) -> None:
        """Close the connections unless the session was handed in."""
        await self._transport.close()

    async def verify(self, give_up_after: float | None = None) -> Registration:
        """Ask whether the runner token is right.

        Raises Forbidden for a refused token, Invalid for an answer that is not of a runner API.
        """
        body = _encode({"token": self.token, "system_id": self.system_id, "info": self.info})
        headers = {**JSON_BOTH, "RUNNER-TOKEN": self.token}
        exchange = send_bytes("POST", self.base + "runners/verify", body)
        reply = await self._transport.call("verify runner", exchange, headers, give_up_after)
        if reply.status in (401, 403):
            raise Forbidden(f"{self.url} refuses the runner token; copy the token of an existing runner")
        answer = _decode(reply)
        if reply.status != 200 or not isinstance(answer, dict) or not isinstance(answer.get("id"), int):
            raise Invalid(f"{self.url} answered {reply.status} to verify, not like a runner API; check the URL")
        return Registration(answer["id"], str(answer.get("token") or self.token))

    async def request_job(
        self, last_update: str = "", *, request_id: str = "", give_up_after: float | None = None
    ) -> JobAnswer:
        """Ask for a job; the server may hold the call.

        Every retry of one call carries the same `X-Request-Id`, so that a server whose 201 got lost can give the same
        job again; a caller that goes on after Unavailable hands in its own `request_id` (32 hex) for that. Raises
        Forbidden when the runner token is refused; any other status comes back without a payload.
        """
        if self._request_body[0] != last_update:
            self._request_body = (last_update, self._job_request(last_update))
        headers = {**JSON_BOTH, "RUNNER-TOKEN": self.token}
        if request_id:
            headers["X-Request-Id"] = request_id
        exchange = send_bytes("POST", self.base + "jobs/request", self._request_body[1])
        reply = await self._transport.call("request job", exchange, headers, give_up_after)
        if reply.status == 403:
            raise Forbidden(f"{self.url} refuses the runner token; the runner was deleted or its token was reset")
        payload = _decode(reply) if reply.status == 201 else None
        newer = reply.headers.get("X-GitLab-Last-Update") or last_update
        return JobAnswer(reply.status, payload if isinstance(payload, dict) else None, newer)

    async def update_job(
        self,
        job: JobKey,
        state: str,
        *,
        failure_reason: str = "",
        exit_code: int = 0,
        output: Output | None = None,
        give_up_after: float | None = None,
    ) -> JobReply:
        """Tell the state of a job: `running` accepts it and keeps it alive, `success` and `failed` end it."""
        body: dict[str, Any] = {"info": self.info, "token": job.token, "state": state, "output": {}}
        if failure_reason:
            body["failure_reason"] = failure_reason
        if output is not None and output.size:
            body["checksum"] = f"crc32:{output.crc:08x}"
            body["output"] = {"checksum": body["checksum"], "bytesize": output.size}
        if exit_code:
            body["exit_code"] = exit_code
        headers = {**JSON_TYPE, "JOB-TOKEN": job.token}
        exchange = send_bytes("PUT", f"{self.base}jobs/{job.id}", _encode(body))
        reply = await self._transport.call(f"update job {job.id}", exchange, headers, give_up_after)
        return read_update(reply.status, reply.headers, final=state != "running")

    async def patch_trace(
        self, job: JobKey, start: int, data: bytes, *, debug: bool = False, give_up_after: float | None = None
    ) -> JobReply:
        """Append `data` to the stored log at byte `start`; `data` is never empty."""
        headers = {
            "Content-Type": "text/plain",
            "Content-Range": f"{start}-{start + len(data) - 1}",
            "JOB-TOKEN": job.token,
        }
        query = {"debug_trace": "true" if debug else "false"}
        exchange = send_bytes("PATCH", f"{self.base}jobs/{job.id}/trace", data, query)
        reply = await self._transport.call(f"send log of job {job.id}", exchange, headers, give_up_after)
        return read_patch(reply.status, reply.headers)

    async def upload_artifact(self, job: JobKey, upload: Upload, give_up_after: float | None = None) -> None:
        """Stream a file to the server.

        Raises Forbidden (403), TooLarge (413) or Invalid (anything else but 201): none of them gets better by waiting.
        """
        query = {
            key: value
            for key, value in (
                ("artifact_type", upload.artifact_type),
                ("artifact_format", upload.artifact_format),
                ("expire_in", upload.expire_in),
            )
            if value
        }
        url = f"{self.base}jobs/{job.id}/artifacts"
        await upload_file(self._transport, url, query, job.token, upload.file, upload.filename, give_up_after)

    async def download_artifact(self, job: JobKey, target: Opener, give_up_after: float | None = None) -> None:
        """Stream the archive of another job into the file that `target` opens, which is complete when this returns.

        Raises Forbidden (401, 403), NotFound (404) or Invalid (any other status).
        """
        await download_archive(self._transport, f"{self.base}jobs/{job.id}/artifacts", job.token, target, give_up_after)

    def _job_request(self, last_update: str) -> bytes:
        body: dict[str, Any] = {"token": self.token, "system_id": self.system_id, "info": self.info}
        if last_update:
            body["last_update"] = last_update
        return _encode(body)


def api_base(url: str) -> str:
    """The address below which the calls lie; a trailing `/` and `/ci` are dropped, a path prefix is kept.

    Raises Invalid for anything but http and https.
    """
    if not url.startswith(("http://", "https://")):
        raise Invalid(f"runner URL {url!r} does not start with http:// or https://; give the server's full address")
    return url.rstrip("/").removesuffix("/ci") + "/api/v4/"


def _encode(body: Mapping[str, Any]) -> bytes:
    return json.dumps(body, separators=(",", ":")).encode()


def _decode(reply: Reply) -> Any:
    try:
        return json.loads(reply.body)
    except ValueError:
        return None
