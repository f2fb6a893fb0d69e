"""One HTTP exchange that outlives a server which is away.

Transport errors and the statuses of a server in trouble are tried again with back-off, under the same `X-Request-Id`,
until an answer comes or the patience of the caller ends.
"""

import logging
import ssl
import time
import uuid
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp

from domain.errors import Unavailable
from fleet.backoff import Backoff, retry_after_seconds
from fleet.features import RUNNER_NAME, runner_version

CALL_TIMEOUT = aiohttp.ClientTimeout(total=90, sock_connect=30)
"""For calls with small bodies. A held request for a job is answered within 25 s: after 90 s the server is dead."""
TRANSFER_TIMEOUT = aiohttp.ClientTimeout(total=None, sock_connect=30, sock_read=600)
"""For files of any size: only silence ends them."""

LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer that was read to its end."""

    status: int
    headers: Mapping[str, str]
    body: bytes


Exchange = Callable[[aiohttp.ClientSession, dict[str, str]], Awaitable[Reply]]
"""Sends one request with the headers it is given and reads the answer."""


def in_trouble(status: int) -> bool:
    """Whether a status only says that the server cannot answer now."""
    return status in (408, 429) or status >= 500


class Transport:
    """A persistent HTTP session with retries. A `session` that is handed in may be shared and stays open."""

    def __init__(
        self,
        *,
        backoff: Backoff,
        sleep: Callable[[float], Awaitable[None]],
        session: aiohttp.ClientSession | None = None,
        tls_ca_file: Path | None = None,
    ) -> None:
        """`sleep` is handed in so that tests need not wait."""
        self._backoff = backoff
        self._sleep = sleep
        self._session = session
        self._shared = session is not None
        self._tls_ca_file = tls_ca_file

    async def close(self) -> None:
        """Close the session unless it is shared."""
        if self._session is not None and not self._shared:
            await self._session.close()
            self._session = None

    async def call(
        self, what: str, exchange: Exchange, headers: Mapping[str, str], give_up_after: float | None = None
    ) -> Reply:
        """Repeat `exchange` until it is answered.

        `what` names the call in messages. `give_up_after` is in seconds, None for ever; then Unavailable is raised.
        """
        started = time.monotonic()
        sent = {"X-Request-Id": uuid.uuid4().hex, **headers}
        attempt = 0
        while True:
            retry_after = None
            try:
                reply = await exchange(self._open_session(), sent)
            except (aiohttp.ClientError, TimeoutError, ConnectionError) as error:
                problem = f"{type(error).__name__}: {error}"
            else:
                if not in_trouble(reply.status):
                    return reply
                problem = f"status {reply.status}"
                retry_after = retry_after_seconds(reply.headers.get("Retry-After"))
            pause = self._backoff.pause(attempt, retry_after)
            if give_up_after is not None and time.monotonic() - started + pause > give_up_after:
                raise Unavailable(f"{what}: the server could not be reached ({problem}); check the URL and try again")
            _log_retry(attempt, what, problem, pause)
            attempt += 1
            await self._sleep(pause)

    def _open_session(self) -> aiohttp.ClientSession:
        if self._session is None:
            context = ssl.create_default_context(cafile=self._tls_ca_file) if self._tls_ca_file else True
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0, ssl=context),
                headers={"User-Agent": f"{RUNNER_NAME} {runner_version()}"},
                timeout=CALL_TIMEOUT,
                trust_env=True,
            )
        return self._session


async def read_reply(response: aiohttp.ClientResponse) -> Reply:
    """Read an answer to its end and keep what is needed of it."""
    return Reply(response.status, response.headers, await response.read())


def send_bytes(method: str, url: str, body: bytes | None = None, query: dict[str, str] | None = None) -> Exchange:
    """An exchange with a small body; redirects are not followed, since they would change the method."""

    async def exchange(session: aiohttp.ClientSession, headers: dict[str, str]) -> Reply:
        options: dict[str, Any] = {"data": body, "params": query, "headers": headers, "allow_redirects": False}
        async with session.request(method, url, **options) as response:
            return await read_reply(response)

    return exchange


def _log_retry(attempt: int, what: str, problem: str, pause: float) -> None:
    """Warn at the first failure and then ever more rarely, so that an outage does not fill the log."""
    level = logging.WARNING if attempt & (attempt - 1) == 0 else logging.DEBUG
    LOG.log(level, "%s failed (%s); attempt %d follows in %.1f s", what, problem, attempt + 2, pause)
