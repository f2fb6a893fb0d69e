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
from typing import Any, Final

import aiohttp

from domain.errors import Invalid, Unavailable
from fleet.backoff import Backoff, retry_after_seconds
from fleet.features import RUNNER_NAME, runner_version

CALL_TIMEOUT = aiohttp.ClientTimeout(total=90, sock_connect=30)
"""For calls with small bodies. A held request for a job is answered within 25 s: after 90 s the server is dead."""
TRANSFER_TIMEOUT = aiohttp.ClientTimeout(total=None, sock_connect=30, sock_read=600)
"""For files of any size: only silence ends them."""

CHECK_URL: Final = "check the URL and try again"
_UNKNOWN_AUTHORITY: Final = frozenset({2, 18, 19, 20, 21})
"""OpenSSL's codes of certificates that sign themselves, or that nobody known has signed (`X509_V_ERR_...`)."""
_GIVE_AUTHORITY: Final = (
    "no authority that this machine knows has signed it: give the certificate of the one that has, by --tls-ca-file of "
    "`perdure runner register` or `tls-ca-file` in config.toml"
)
_OTHER_CERTIFICATE: Final = "check the URL, or have the certificate of the server replaced"

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
                problem, advice = problem_of(error)
            else:
                if not in_trouble(reply.status):
                    return reply
                problem, advice = f"status {reply.status}", CHECK_URL
                retry_after = retry_after_seconds(reply.headers.get("Retry-After"))
            pause = self._backoff.pause(attempt, retry_after)
            if give_up_after is not None and time.monotonic() - started + pause > give_up_after:
                raise Unavailable(f"{what}: the server could not be reached ({problem}); {advice}")
            _log_retry(attempt, what, problem, pause)
            attempt += 1
            await self._sleep(pause)

    def _open_session(self) -> aiohttp.ClientSession:
        if self._session is None:
            context = _context(self._tls_ca_file) if self._tls_ca_file else True
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0, ssl=context),
                headers={"User-Agent": f"{RUNNER_NAME} {runner_version()}"},
                timeout=CALL_TIMEOUT,
                trust_env=True,
            )
        return self._session


def problem_of(error: Exception) -> tuple[str, str]:
    """Why a call got no answer, and what to do about it.

    A certificate that no known authority has signed, or that is not for this address, is told as such.
    """
    if not isinstance(error, aiohttp.ClientConnectorCertificateError):
        return f"{type(error).__name__}: {error}", CHECK_URL
    fault = error.certificate_error
    why = fault.verify_message if isinstance(fault, ssl.SSLCertVerificationError) else str(fault)
    is_unknown = isinstance(fault, ssl.SSLCertVerificationError) and fault.verify_code in _UNKNOWN_AUTHORITY
    advice = _GIVE_AUTHORITY if is_unknown else _OTHER_CERTIFICATE
    return f"the certificate of {error.host}:{error.port} is not accepted: {why}", advice


def _context(ca_file: Path) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=ca_file)
    except OSError as error:
        raise Invalid(f"{ca_file} cannot be read as certificates (PEM) of authorities: {error}") from error


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
