"""Posting a document to an address that a user named: with time limits, a short look at the response, no redirects."""

import asyncio
import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

import httpx

from outbound.addresses import Permission, Resolver, is_public, look_up
from outbound.guarded_call import USUAL_PORTS, Blocked, Unresolved, open_call

KEPT_BODY: Final = 8 * 1024
"""Bytes of a response that are kept; GitLab keeps as many of a webhook's."""
KEPT_HEADERS: Final = 50
KEPT_HEADER: Final = 1024
"""Characters of each header of a response that are kept."""
MAX_ADDRESS: Final = 2048


@dataclass(frozen=True, slots=True)
class PostLimits:
    """Seconds that one post may take: to connect, and all in all."""

    connect: float = 5.0
    total: float = 10.0


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back. Without a `status` nothing did: `error` says why, and `passing` whether it may be gone later."""

    status: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    body: str = ""
    seconds: float = 0.0
    error: str = ""
    passing: bool = True


def address_fault(url: str) -> str:
    """What is wrong with an address to post to; empty if it is one of HTTP with a host."""
    try:
        target = httpx.URL(url)
    except (httpx.InvalidURL, ValueError):
        return "is not an address"
    if target.scheme not in USUAL_PORTS:
        return "must be an http or https address"
    if not target.raw_host or len(url) > MAX_ADDRESS or target.port == 0:
        return f"must have a host, and at most {MAX_ADDRESS} characters"
    return ""


class Poster:
    """Posts documents. `permitted` says which internet addresses may be connected to."""

    def __init__(self, limits: PostLimits, *, permitted: Permission = is_public, resolver: Resolver = look_up) -> None:
        """Post within these limits."""
        self._limits = limits
        self._permitted = permitted
        self._resolver = resolver
        self._contexts: dict[bool, ssl.SSLContext] = {}

    async def post(self, url: str, headers: Mapping[str, str], content: bytes, *, verify: bool = True) -> Reply:
        """Post once. What goes wrong is in the reply, never raised."""
        begin = time.monotonic()
        if fault := address_fault(url):
            return Reply(error=f"The address {fault}.", passing=False)
        context = await self._context(verify=verify)
        timeout = httpx.Timeout(self._limits.total, connect=self._limits.connect)
        try:
            async with (
                asyncio.timeout(self._limits.total),
                httpx.AsyncClient(verify=context, trust_env=False, timeout=timeout) as client,
            ):
                return await self._post(client, httpx.URL(url), headers, content, begin)
        except (TimeoutError, httpx.TimeoutException):
            error = f"No complete answer within {self._limits.total:g} s."
            return Reply(error=error, seconds=time.monotonic() - begin)
        except Blocked as blocked:
            error = f"{blocked} An administrator may permit its network (PERDURE_OUTBOUND_NETWORKS)."
            return Reply(error=error, seconds=time.monotonic() - begin, passing=False)
        except (Unresolved, httpx.TransportError, httpx.InvalidURL) as error:
            return Reply(error=str(error) or type(error).__name__, seconds=time.monotonic() - begin)

    async def _context(self, *, verify: bool) -> ssl.SSLContext:
        """Made once each: reading the authorities takes its time."""
        if verify not in self._contexts:
            context = await asyncio.to_thread(ssl.create_default_context)
            if not verify:
                context.check_hostname = False
                context.verify_mode = ssl.CERT_NONE
            self._contexts[verify] = context
        return self._contexts[verify]

    async def _post(
        self, client: httpx.AsyncClient, target: httpx.URL, headers: Mapping[str, str], content: bytes, begin: float
    ) -> Reply:
        auth = httpx.BasicAuth(target.username, target.password) if target.userinfo else None
        response = await open_call(
            client,
            "POST",
            target,
            headers=headers,
            content=content,
            auth=auth,
            resolver=self._resolver,
            permitted=self._permitted,
        )
        try:
            body = await _beginning(response)
        finally:
            await response.aclose()
        kept = list(response.headers.items())[:KEPT_HEADERS]
        return Reply(
            response.status_code,
            {name.title(): value[:KEPT_HEADER] for name, value in kept},
            body.decode("utf-8", "replace").replace("\x00", ""),
            time.monotonic() - begin,
        )


async def _beginning(response: httpx.Response) -> bytes:
    """The first bytes of a response as they come; the rest is not waited for."""
    body = bytearray()
    async for chunk in response.aiter_raw(KEPT_BODY):
        body += chunk
        if len(body) >= KEPT_BODY:
            break
    return bytes(body[:KEPT_BODY])
