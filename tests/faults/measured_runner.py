"""A runner that tries again exactly as GitLab Runner 17.8 was measured to, and gives up as it does.

It does not obey `Retry-After`. Only the number of tries and the time that they take together were measured, so the
pauses between them are alike here. What it is told after a try that was cut counts as a closed port.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any, Final

import aiohttp

LOG, UPLOAD = "log", "upload"
"""Kinds of calls. The word that a job has ended is tried as its last piece of log is."""
AWAY, CLOSED = "503", "closed"
"""What a try meets: a front that says 503, or nobody who listens (or somebody who hangs up)."""


@dataclass(frozen=True)
class Tries:
    """So many, in so many seconds."""

    count: int
    seconds: float

    @property
    def pause(self) -> float:
        """Seconds between two of them."""
        return self.seconds / (self.count - 1)


MEASURED: Final = {
    (LOG, AWAY): Tries(10, 96.0),
    (LOG, CLOSED): Tries(10, 67.0),  # of these only the time was measured
    (UPLOAD, AWAY): Tries(6, 19.5),
    (UPLOAD, CLOSED): Tries(3, 4.0),
}
PATIENCE: Final = 600.0
"""Seconds for which it waits for a response to begin."""


class Dropped(Exception):
    """It has given up: the result or the artifact is lost."""


@dataclass
class MeasuredRunner:
    """Speaks to one server. `scale`: so many times as fast as the real one; `tries`: how often each call was sent."""

    session: aiohttp.ClientSession
    scale: float = 1.0
    tries: list[tuple[str, int]] = field(default_factory=list)

    async def call(
        self, kind: str, method: str, path: str, body: Callable[[], Any], good: int, **headers: str
    ) -> dict[str, Any]:
        """The response's headers; raises Dropped. `body` makes the body of each try anew."""
        timeout = aiohttp.ClientTimeout(total=None, sock_read=PATIENCE / self.scale)
        count = 0
        while True:
            count += 1
            met = CLOSED
            try:
                async with self.session.request(
                    method, path, data=body(), headers=headers, timeout=timeout
                ) as response:
                    if response.status == good:
                        self.tries.append((f"{method} {kind}", count))
                        return {**response.headers}
                    met = AWAY
                    text = f"{response.status} {await response.text()}"
            except (aiohttp.ClientError, TimeoutError) as error:
                text = repr(error)
            limit = MEASURED[kind, met]
            if count >= limit.count:
                raise Dropped(f"{method} {path} was dropped after {count} tries: {text}")
            await asyncio.sleep(limit.pause / self.scale)

    async def log(self, job: dict[str, Any], content: bytes) -> None:
        """Send all of a short log."""
        headers = {"JOB-TOKEN": job["token"], "Content-Range": f"0-{len(content) - 1}", "Content-Type": "text/plain"}
        await self.call(LOG, "PATCH", f"/api/v4/jobs/{job['id']}/trace", lambda: content, 202, **headers)

    async def upload(self, job: dict[str, Any], parts: Callable[[], AsyncIterator[bytes]]) -> None:
        """Hand in an archive as a stream of unknown length."""

        async def form() -> AsyncIterator[bytes]:
            yield b'--b\r\nContent-Disposition: form-data; name="file"; filename="artifacts.zip"\r\n\r\n'
            async for part in parts():
                yield part
            yield b"\r\n--b--\r\n"

        headers = {"JOB-TOKEN": job["token"], "Content-Type": "multipart/form-data; boundary=b"}
        path = f"/api/v4/jobs/{job['id']}/artifacts?artifact_type=archive&artifact_format=zip"
        await self.call(UPLOAD, "POST", path, form, 201, **headers)

    async def say(self, job: dict[str, Any], state: str) -> None:
        """Say that the job begins, or how it ended."""
        body = f'{{"token": "{job["token"]}", "state": "{state}"}}'.encode()
        headers = {"Content-Type": "application/json"}
        await self.call(LOG, "PUT", f"/api/v4/jobs/{job['id']}", lambda: body, 200, **headers)
