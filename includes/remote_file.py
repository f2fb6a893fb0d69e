"""Files behind an address (`include:remote`), fetched so that nobody can use it to look into the server's network.

The name is looked up once for each hop, every address it leads to is checked, and the connection goes to exactly such
an address; so a name that changes its mind in between gains nothing. Source: docs/reference/ci-yaml.md, "Includes",
"Limits".
"""

import asyncio
import re
import ssl
import zlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

import httpx

from domain.errors import Invalid
from outbound.addresses import Permission, Resolver, is_public, look_up
from outbound.guarded_call import USUAL_PORTS, Blocked, Unresolved, open_call

Sleep: TypeAlias = Callable[[float], Awaitable[None]]

_VALID_PORTS: Final = frozenset({None, *range(1, 65536)})
"""Any port may serve a file; None is the usual one of the scheme."""
_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
_URL_LIMIT: Final = 2048
"""Characters of an address: what browsers and proxies take."""
_SHOWN: Final = 100
"""Characters of a too long address that a message shows."""
_CHUNK: Final = 64 * 1024
_FIRST_PAUSE: Final = 0.5
"""Seconds before the second attempt; each further pause is twice as long."""
_ANY_FORMAT: Final = 47
"""zlib's word for "gzip or zlib, by its header, with the largest window"."""
_PACKED: Final = frozenset({"gzip", "x-gzip", "deflate"})
_USER: Final = re.compile(r"^([^:/?#]*:)?//[^/?#]*@")
_PARAMETER: Final = re.compile(r"[?&][^&#]*")
_SECRET: Final = re.compile(r"token|secret|passw|key|sig|credential|auth", re.IGNORECASE)
_ADVICE: Final = {
    401: "the server wants credentials.",
    403: "the server refuses access without credentials, or at all.",
    404: "check the address.",
    410: "the file was removed; check the address.",
    429: "the server has had too many requests; try again later.",
}
"""What to do about an HTTP code."""


@dataclass(frozen=True, slots=True)
class RemoteLimits:
    """How much one file may cost; durations are seconds."""

    size: int = 2 * 1024 * 1024
    """Bytes, after unpacking."""
    total: float = 30.0
    """For everything: all attempts, redirects and pauses."""
    connect: float = 5.0
    """For one connection, including TLS."""
    idle: float = 10.0
    """Silence of the server, after which an attempt is given up."""
    redirects: int = 5
    attempts: int = 3


DEFAULT_LIMITS: Final = RemoteLimits()


class _Failure(Exception):
    """Why one attempt failed; a passing failure may be gone with the next one."""

    def __init__(self, reason: str, advice: str, *, passing: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.advice = advice
        self.passing = passing


async def fetch(
    url: str,
    *,
    limits: RemoteLimits = DEFAULT_LIMITS,
    resolver: Resolver = look_up,
    permitted: Permission = is_public,
    tls: ssl.SSLContext | None = None,
    sleep: Sleep = asyncio.sleep,
) -> str:
    """The text behind an `http` or `https` address, after redirects; tried again when the server fails or is silent.

    `permitted` says which internet addresses may be connected to; `tls` whom to trust (the system's authorities).
    Raises `Invalid` in GitLab's words, with a hint, and without the credentials that the address holds.
    """
    target = _target(url)
    context = await asyncio.to_thread(ssl.create_default_context) if tls is None else tls
    timeout = httpx.Timeout(limits.idle, connect=limits.connect)
    try:
        async with (
            asyncio.timeout(limits.total),
            httpx.AsyncClient(verify=context, trust_env=False, timeout=timeout) as client,
        ):
            raw = await _Fetching(client, limits, resolver, permitted).persist(target, sleep)
    except TimeoutError:
        failure = _Failure("a timeout error!", f"No complete answer within {limits.total:g} s.")
        raise _error(url, failure) from None
    except _Failure as failure:
        raise _error(url, failure) from failure.__cause__
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        raise Invalid(f"Remote file `{shown(url)}` is not UTF-8 text (byte {error.start}).") from error


def shown(url: str) -> str:
    """An address as messages show it: without user and password, and without values in the query that look secret."""
    if len(url) > _URL_LIMIT:
        return _USER.sub(r"\1//", url).split("?")[0][:_SHOWN] + "..."
    return _PARAMETER.sub(_without_secret, _USER.sub(r"\1//", url))


def _without_secret(parameter: re.Match[str]) -> str:
    """A parameter of a query; what follows the first name that looks secret is left out."""
    *names, _ = parameter[0].split("=")
    for place, name in enumerate(names, 1):
        if _SECRET.search(name):
            return "=".join((*names[:place], "[MASKED]"))
    return parameter[0]


def _error(url: str, failure: _Failure) -> Invalid:
    return Invalid(f"Remote file `{shown(url)}` could not be fetched because of {failure.reason} {failure.advice}")


def _target(url: str) -> httpx.URL:
    """The address in parts. Raises `Invalid` unless it is one of HTTP with a host."""
    try:
        target = httpx.URL(url) if len(url) <= _URL_LIMIT else None
    except (httpx.InvalidURL, ValueError):
        target = None
    if target is None or target.scheme not in USUAL_PORTS or not target.raw_host or target.port not in _VALID_PORTS:
        raise Invalid(
            f"Remote file `{shown(url)}` does not have a valid address! "
            f"Give one as `https://host/path`, with at most {_URL_LIMIT} characters."
        )
    return target


@dataclass(frozen=True, slots=True)
class _Fetching:
    """One file on its way."""

    client: httpx.AsyncClient
    limits: RemoteLimits
    resolver: Resolver
    permitted: Permission

    async def persist(self, target: httpx.URL, sleep: Sleep) -> bytes:
        """Try again while there is hope."""
        pause = _FIRST_PAUSE
        for left in reversed(range(self.limits.attempts)):
            try:
                return await self._follow(target)
            except _Failure as failure:
                if not (left and failure.passing):
                    raise
            await sleep(pause)
            pause *= 2
        raise AssertionError("the last attempt raises or returns")

    async def _follow(self, target: httpx.URL) -> bytes:
        """One attempt: through all redirects to the file."""
        for _ in range(self.limits.redirects + 1):
            response = await self._ask(target)
            if isinstance(response, bytes):
                return response
            if (target.scheme, response.scheme) == ("https", "http"):
                raise _Failure("HTTP error!", "It redirects from https to http, where anybody could change it.")
            target = response
        raise _Failure("HTTP error!", f"It redirects more than {self.limits.redirects} times.")

    async def _ask(self, target: httpx.URL) -> bytes | httpx.URL:
        """One hop: the file, or where it is instead."""
        auth = httpx.BasicAuth(target.username, target.password) if target.userinfo else None
        try:
            response = await open_call(
                self.client,
                "GET",
                target,
                headers={"Accept-Encoding": "gzip", "User-Agent": "perdure"},
                auth=auth,
                resolver=self.resolver,
                permitted=self.permitted,
            )
        except Unresolved as error:
            raise _Failure("a socket error!", "The name of its server has no address.") from error
        except Blocked as error:
            raise _Failure(
                "a blocked address!",
                "Its server, or the one it redirects to, is not on the public internet; "
                "put the file into a project and use `include:project`.",
            ) from error
        except httpx.TransportError as error:
            raise _of_transport(error) from error
        try:
            if response.status_code in _REDIRECTS and "location" in response.headers:
                return _redirected(target, response.headers["location"])
            _check_status(response.status_code, self.limits.attempts)
            return await _body(response, self.limits.size)
        except httpx.TransportError as error:
            raise _of_transport(error) from error
        finally:
            await response.aclose()


def _redirected(target: httpx.URL, location: str) -> httpx.URL:
    try:
        return _target(str(target.join(location)))
    except (httpx.InvalidURL, ValueError, Invalid) as error:
        raise _Failure("HTTP error!", "It redirects to something that is no address.") from error


def _check_status(code: int, attempts: int) -> None:
    if httpx.codes.is_success(code):
        return
    passing = httpx.codes.is_server_error(code)
    advice = f"The server failed {attempts} times." if passing else _ADVICE.get(code, "check the address.")
    raise _Failure(f"HTTP code `{code}` error!", advice[0].upper() + advice[1:], passing=passing)


def _of_transport(error: httpx.TransportError) -> _Failure:
    """What to call a failed connection. A refused certificate will be refused again; everything else may pass."""
    if isinstance(error, httpx.TimeoutException):
        return _Failure("a timeout error!", "The server does not answer.", passing=True)
    if "CERTIFICATE_VERIFY_FAILED" in str(error):
        return _Failure("HTTP error!", "The certificate of the server is not valid for its name.")
    if isinstance(error, httpx.NetworkError):
        return _Failure("a socket error!", "The server cannot be reached, or hung up.", passing=True)
    return _Failure("HTTP error!", "The server does not speak HTTP as it should.")


async def _body(response: httpx.Response, limit: int) -> bytes:
    """All bytes of the response, unpacked, never more than one chunk over the limit in memory."""
    encoding = response.headers.get("content-encoding", "identity").strip().lower()
    if encoding not in _PACKED | {"identity", ""}:
        raise _Failure("HTTP error!", "The server packs it in a way that was not asked for.")
    unpacking = zlib.decompressobj(_ANY_FORMAT) if encoding in _PACKED else None
    body = bytearray()
    async for chunk in response.aiter_raw(_CHUNK):
        try:
            # A limit of 0 would mean none.
            body += unpacking.decompress(chunk, limit + 1 - len(body)) if unpacking else chunk
        except zlib.error as error:
            raise _Failure("HTTP error!", "What the server packed cannot be unpacked.") from error
        if len(body) > limit:
            raise _Failure("its size!", f"At most {limit:,} bytes are read.")
        if unpacking and unpacking.eof:
            break
    if unpacking and not unpacking.eof:
        raise _Failure("HTTP error!", "What the server packed is cut.", passing=True)
    return bytes(body)
