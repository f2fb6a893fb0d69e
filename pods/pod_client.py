"""Calls from one pod to another, directly and never through the router (docs/pods.md, "Calls between pods").

Every call may be repeated: after `Unavailable` nobody knows whether it was done, and the same call again tells.
"""

from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from http import HTTPStatus
from itertools import count
from typing import Final

import httpx

from domain.errors import Forbidden, Invalid, PerdureError, Refused, TooLarge, Unavailable
from domain.pods.directory import Pod

CONNECT_TIMEOUT: Final = 2.0
CALL_TIMEOUT: Final = 45.0
"""Seconds: a pipeline's configuration may include files of other servers."""
MAX_CONCURRENT: Final = 8
"""So many calls are at work at one pod: one that hangs takes its own places and no others."""
MAX_PASSED_ON: Final = 32
"""Likewise of calls that jobs make there by this pod, until the response has come to its end."""
PASSED_ON_TIMEOUT: Final = 600.0
"""Seconds of silence within one of these: a runner waits as long."""
_ERRORS: Final[Mapping[int, type[PerdureError]]] = {
    HTTPStatus.BAD_REQUEST: Invalid,
    HTTPStatus.FORBIDDEN: Forbidden,
    HTTPStatus.CONFLICT: Refused,
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: TooLarge,
}
"""What the other pod says for good. All else may pass: it does not know our newest keys, or is of an older version."""


class PodClient:
    """The way to all other pods. Nothing is opened before the first call."""

    def __init__(self, transport: httpx.AsyncBaseTransport | None = None) -> None:
        """`transport` is for tests."""
        self._transport = transport
        self._http: httpx.AsyncClient | None = None
        self._turns = count()
        self._open: Counter[int] = Counter()
        self._passed_on: Counter[int] = Counter()

    async def close(self) -> None:
        """Close every connection."""
        if self._http is not None:
            await self._http.aclose()

    async def call(self, pod: Pod, method: str, path: str, body: bytes, token: str) -> bytes:
        """The JSON that a pod answers with. Raises `Unavailable`, `Invalid`, `TooLarge`, `Forbidden`, `Refused`."""
        if self._open[pod.number] >= MAX_CONCURRENT:
            raise Unavailable(f"Pod {pod.name} answers {MAX_CONCURRENT} calls already.")
        self._open[pod.number] += 1
        try:
            return _content(pod, await self._response(pod, method, path, body, token))
        finally:
            self._open[pod.number] -= 1

    @asynccontextmanager
    async def passed_on(
        self, pod: Pod, method: str, target: str, headers: Sequence[tuple[str, str]], body: bytes
    ) -> AsyncIterator[httpx.Response]:
        """The response of a pod to somebody else's call, as it comes. Raises `Unavailable` before it begins.

        Of several APIs the next one is asked where one cannot be reached: the call may not be one to repeat.
        """
        if self._passed_on[pod.number] >= MAX_PASSED_ON:
            raise Unavailable(f"Pod {pod.name} carries out {MAX_PASSED_ON} calls of jobs already.")
        self._passed_on[pod.number] += 1
        try:
            response = await self._begun(pod, method, target, headers, body)
            try:
                yield response
            finally:
                await response.aclose()
        finally:
            self._passed_on[pod.number] -= 1

    async def _begun(
        self, pod: Pod, method: str, target: str, headers: Sequence[tuple[str, str]], body: bytes
    ) -> httpx.Response:
        timeout = httpx.Timeout(PASSED_ON_TIMEOUT, connect=CONNECT_TIMEOUT)
        http, failed = self._opened(), ""
        for address in self._in_turn(pod):
            # The target goes as it came: `%2F` means something to the other pod, and httpx would write it anew.
            raw_path = target.encode("latin-1")
            url = httpx.URL(f"http://{address}").copy_with(raw_path=raw_path)
            request = http.build_request(method, url, headers=headers, content=body, timeout=timeout)
            try:
                return await http.send(request, stream=True)
            except (httpx.ConnectError, httpx.ConnectTimeout) as error:
                failed = type(error).__name__
            except httpx.HTTPError as error:
                raise Unavailable(f"Pod {pod.name} did not answer ({type(error).__name__}).") from error
        raise Unavailable(f"Pod {pod.name} is away ({failed}).")

    async def _response(self, pod: Pod, method: str, path: str, body: bytes, token: str) -> httpx.Response:
        """What the first of a pod's APIs says that answers; each call begins with another one."""
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        http, failed = self._opened(), ""
        for address in self._in_turn(pod):
            try:
                return await http.request(method, f"http://{address}{path}", content=body, headers=headers)
            except httpx.HTTPError as error:
                failed = type(error).__name__
        raise Unavailable(f"Pod {pod.name} is away ({failed}).")

    def _in_turn(self, pod: Pod) -> Sequence[str]:
        """The addresses of a pod, each time beginning with another one. Raises `Unavailable` if it has none."""
        addresses = [address.strip() for address in pod.address.split(",") if address.strip()]
        if not addresses:
            raise Unavailable(f"The directory has no address of pod {pod.name}.")
        first = next(self._turns) % len(addresses)
        return addresses[first:] + addresses[:first]

    def _opened(self) -> httpx.AsyncClient:
        if self._http is None:
            timeout = httpx.Timeout(CALL_TIMEOUT, connect=CONNECT_TIMEOUT)
            limits = httpx.Limits(max_connections=None, max_keepalive_connections=2 * MAX_CONCURRENT)
            self._http = httpx.AsyncClient(
                transport=self._transport, timeout=timeout, limits=limits, trust_env=False, follow_redirects=False
            )
        return self._http


def _content(pod: Pod, response: httpx.Response) -> bytes:
    """What a response says. Raises the error that it tells."""
    if response.status_code == HTTPStatus.OK:
        return response.content
    kind = _ERRORS.get(response.status_code)
    if kind is None:
        raise Unavailable(f"Pod {pod.name} answered {response.status_code}.")
    raise kind(_message(response))


def _message(response: httpx.Response) -> str:
    try:
        document = response.json()
    except ValueError:
        return str(response.status_code)
    return str(document.get("message")) if isinstance(document, dict) else str(response.status_code)
