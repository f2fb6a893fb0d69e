"""The front's way to the API: one pool of connections, and one error for every way in which the API can be away."""

import contextlib
from http import HTTPStatus
from itertools import count
from types import TracebackType
from typing import Self

import aiohttp
from aiohttp import ClientHandlerType, ClientRequest, ClientResponse
from multidict import CIMultiDict
from yarl import URL

from pods.connection import HEADER_LIMIT
from pods.patience import SAFE, Patience
from pods.request_body import SMALL, RequestBody
from settings import FrontLimits, host_in_url

NOT_OURS = ("Accept", "Accept-Encoding", "Content-Type", "User-Agent")
"""Headers that the HTTP client would add if the caller sent none."""


class Away(Exception):
    """The API did not answer. `unprocessed`: it certainly saw nothing of the request."""

    def __init__(self, reason: str, *, unprocessed: bool) -> None:
        """Keep what happened, for the log and for the decision to try again."""
        super().__init__(reason)
        self.unprocessed = unprocessed


async def _one_error(request: ClientRequest, handler: ClientHandlerType) -> ClientResponse:
    """Turn connection errors into Away; it also keeps aiohttp from repeating a PUT on its own."""
    try:
        return await handler(request)
    except aiohttp.ClientConnectorError as error:
        raise AwayClientError(Away(str(error), unprocessed=True)) from error
    except aiohttp.ConnectionTimeoutError as error:
        raise AwayClientError(Away(str(error), unprocessed=True)) from error
    except (aiohttp.ClientError, OSError) as error:
        raise AwayClientError(Away(f"{type(error).__name__}: {error}", unprocessed=False)) from error


class AwayClientError(aiohttp.ClientError):
    """Carries an Away through aiohttp, which lets its own errors pass unchanged."""

    def __init__(self, away: Away) -> None:
        """Wrap it."""
        super().__init__(str(away))
        self.away = away


class Upstream:
    """The API `beside` the front, or those that `limits` name; an async context manager that owns the pool."""

    def __init__(self, beside: tuple[str, int], limits: FrontLimits) -> None:
        """Remember where the API is; nothing is opened yet. Raises ValueError for an address without a port."""
        self._addresses = _addresses(limits.apis) or [beside]
        self._turns = count()
        self._limits = limits
        self._session: aiohttp.ClientSession | None = None

    def move(self, apis: str) -> None:
        """From now on the APIs are here (`host:port`, with commas between); what they answer already goes on.

        Raises ValueError for an address without a port.
        """
        self._addresses = _addresses(apis) or self._addresses

    async def __aenter__(self) -> Self:
        """Open the pool."""
        connector = aiohttp.TCPConnector(limit=0, keepalive_timeout=self._limits.api_keepalive, use_dns_cache=False)
        self._session = aiohttp.ClientSession(
            connector=connector,
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
            skip_auto_headers=NOT_OURS,
            middlewares=(_one_error,),
            max_line_size=HEADER_LIMIT,
            max_field_size=HEADER_LIMIT,
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close every connection."""
        if self._session is not None:
            await self._session.close()

    async def send(
        self, method: str, target: URL, headers: CIMultiDict[str], body: RequestBody, patience: Patience
    ) -> ClientResponse:
        """Hand one request on and return the response as soon as its header is there; raises Away.

        A safe request without a body is sent once more if a pooled connection turned out to be stale. Of several APIs
        the next one is asked if one certainly saw nothing of it.
        """
        turn = next(self._turns)
        others = len(self._addresses) - 1
        while True:
            address = self._addresses[turn % len(self._addresses)]
            try:
                return await self._once(address, method, target, headers, body, patience.answer)
            except Away as away:
                if away.unprocessed:
                    if not others or body.touched:
                        raise
                    turn, others = turn + 1, others - 1
                elif not body.empty or method not in SAFE:
                    raise
                else:
                    break
        return await self._once(address, method, target, headers, body, patience.answer)

    async def _once(
        self,
        address: tuple[str, int],
        method: str,
        target: URL,
        headers: CIMultiDict[str],
        body: RequestBody,
        response: float,
    ) -> ClientResponse:
        assert self._session is not None
        # URL.build with encoded=True keeps the target byte by byte: `%2F`, `//` and `..` mean something to the API.
        url = URL.build(
            scheme="http",
            host=host_in_url(address[0]),  # what is encoded already gets no brackets there
            port=address[1],
            path=target.raw_path,
            query_string=target.raw_query_string,
            encoded=True,
        )
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=self._limits.connect, sock_read=response)
        try:
            return await self._session.request(
                method, url, headers=headers, data=body.payload(), allow_redirects=False, timeout=timeout
            )
        except AwayClientError as error:
            raise error.away from error

    async def healthy(self, limit: float) -> bool:
        """Does an API answer `/-/health` with 200 within `limit` seconds?"""
        return await self._health(limit) == HTTPStatus.OK

    async def is_back(self) -> bool:
        """Does an API answer, and not say that it cannot do anything (5xx)?"""
        status = await self._health(self._limits.connect)
        return status is not None and status < HTTPStatus.INTERNAL_SERVER_ERROR

    async def _health(self, limit: float) -> int | None:
        """What the first API that answers says of its health; None if none does within `limit` seconds each."""
        found = await self._get("/-/health", limit)
        return None if found is None else found[0]

    async def read(self, path: str, limit: float) -> bytes | None:
        """A small document; None if no API answers with 200 within `limit` seconds."""
        found = await self._get(path, limit)
        return None if found is None or found[0] != HTTPStatus.OK else found[1]

    async def _get(self, path: str, limit: float) -> tuple[int, bytes] | None:
        """Status and content from the first API that answers."""
        assert self._session is not None
        for host, port in self._addresses:
            url = URL.build(scheme="http", host=host, port=port, path=path)
            with contextlib.suppress(aiohttp.ClientError, TimeoutError):
                async with self._session.get(url, timeout=aiohttp.ClientTimeout(total=limit)) as response:
                    return response.status, await response.read()
        return None


def _addresses(text: str) -> list[tuple[str, int]]:
    """`host:port` with commas between; raises ValueError."""
    found = [part.strip().rpartition(":") for part in text.split(",") if part.strip()]
    return [(host.strip("[]"), int(port)) for host, _, port in found]


async def read_small(response: ClientResponse) -> bytes | None:
    """All of a response that says it is small, else None; raises Away if it is cut."""
    length = response.content_length
    if length is None or length > SMALL:
        return None
    try:
        return await response.read()
    except (aiohttp.ClientError, OSError) as error:
        raise Away(f"the answer was cut: {error}", unprocessed=False) from error
