"""Whose call it is to be carried out: one caller has so many calls and pages at a time (`docs/limits.md`).

A call counts from before its body is read until its response begins: bodies that come slowly and connections to the
database are limited, too. Whose it is, is told before that by what was shown lately: a token or session that was
nobody's counts for its address, until the route has found out (`counts_for`). Nothing of the database is held while a
call waits. Runners do not come here; git, streams of events and what is passed on in parts have limits of their own.
"""

import asyncio
import hashlib
import time
from collections import OrderedDict
from collections.abc import Callable
from contextlib import AsyncExitStack
from typing import Final

from fastapi import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api.http_metrics import kind_of
from api.pods.job_of_pod import job_of_pod
from api.replayed_body import replayed
from api.shown_tokens import shown_by
from domain.client_network import network_of
from domain.errors import PerdureError, Unavailable
from git.turns import Places, turn_of, turns_at

_ANY: Final = 1_000_000
CALLS: Final = Places(at_once=_ANY, of_caller=8, of_repository=_ANY, what="calls", waiting=128)
"""Fewer than the connections to PostgreSQL (`models.session`): each call has one of them at most at a time."""
REMEMBERED: Final = 60.0
"""Seconds for which a token is taken for somebody's; one that was revoked takes nothing from its owner after that."""
_MAX_CALLERS: Final = 20_000
_ELSEWHERE: Final = frozenset({"git", "health"})
"""Kinds of calls that do not count here."""
_CALL: Final = "perdure.call"
"""Where the scope of a request holds its call."""


def key_of_address(host: str) -> str:
    """Whose share a call takes of which nothing is known but where it comes from."""
    return f"address {network_of(host).hex()}"


async def counts_for(request: Request, key: str) -> None:
    """From now on a call takes the share of this caller; waits until they may have one more. Raises `Unavailable`."""
    call = request.scope.get(_CALL)
    if call is not None:
        await call.counts_for(key)


class CallersByToken:
    """Whose a token or session was lately."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """`clock` gives monotonic seconds."""
        self._clock = clock
        self._known: OrderedDict[bytes, tuple[str, float]] = OrderedDict()

    def note(self, shown: str, key: str) -> None:
        """Remember it; an address is nobody."""
        digest = _digest(shown)
        self._known.pop(digest, None)
        if shown and not key.startswith("address "):
            self._known[digest] = key, self._clock() + REMEMBERED
        if len(self._known) > _MAX_CALLERS:
            self._known.popitem(last=False)

    def key_of(self, shown: str) -> str:
        """Who it is, empty while nobody knows."""
        key, until = self._known.get(_digest(shown), ("", 0.0))
        return key if self._clock() < until else ""


class Call:
    """One call, and the turn that it has."""

    def __init__(self, callers: CallersByToken, shown: str, host: str, key: str = "") -> None:
        """`shown`: the token or session, empty for none; `host`: where it comes from; `key`: whose it is, if known."""
        self._callers = callers
        self._shown = shown
        self._turn = AsyncExitStack()
        self.key = key or callers.key_of(shown) or key_of_address(host)
        self._is_counted = False

    @property
    def must_wait(self) -> bool:
        """Whether its caller has all that they may have."""
        return not turns_at(CALLS).is_free(self.key, "")

    async def begin(self) -> None:
        """Wait for its turn. Raises `Unavailable`."""
        await self._turn.enter_async_context(turn_of(CALLS, self.key, ""))
        self._is_counted = True
        await asyncio.sleep(0)  # on SQLite the rest may never wait: who came at the same moment is counted before it

    async def end(self) -> None:
        """Leave the place to the next call."""
        self._is_counted = False
        await self._turn.aclose()

    async def counts_for(self, key: str) -> None:
        """It is this caller's. Its place goes first: who waits for one holds none."""
        self._callers.note(self._shown, key)
        if self._is_counted and key != self.key:
            await self.end()
            self.key = key
            await self.begin()


class CallsInTurn:
    """Middleware that lets calls go on when their caller may have one more."""

    def __init__(self, app: ASGIApp, refusal: Callable[[Request, PerdureError], Response]) -> None:
        """`app` answers; `refusal` is the response to a call whose turn does not come."""
        self._app = app
        self._refusal = refusal
        self._callers = CallersByToken()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a call on in its turn."""
        if scope["type"] != "http" or kind_of(scope["path"]) in _ELSEWHERE:
            await self._app(scope, receive, send)
            return
        request, client = Request(scope), scope.get("client")
        calling = job_of_pod(scope)
        key = calling.key if calling else ""
        call = Call(self._callers, shown_by(request), client[0] if client else "", key)

        async def begun(message: Message) -> None:
            if message["type"] == "http.response.start":
                await call.end()
            await send(message)

        try:
            if call.must_wait and _is_bodiless(request):
                if not await _begins_before_leaving(call, receive):
                    return
                receive = replayed(b"", receive)
            else:
                await call.begin()
            scope[_CALL] = call
            await self._app(scope, receive, begun)
        except Unavailable as error:
            if _CALL in scope:  # not ours
                raise
            await self._refusal(request, error)(scope, receive, send)
        finally:
            await call.end()


def _digest(shown: str) -> bytes:
    return hashlib.sha256(shown.encode()).digest()


def _is_bodiless(request: Request) -> bool:
    return "transfer-encoding" not in request.headers and request.headers.get("content-length", "0") == "0"


async def _begins_before_leaving(call: Call, receive: Receive) -> bool:
    """Wait for a call's turn as long as its caller does. Only without a body: it would be read meanwhile."""

    async def leaving() -> None:
        while (await receive())["type"] != "http.disconnect":
            pass

    turn, left = asyncio.ensure_future(call.begin()), asyncio.ensure_future(leaving())
    try:
        await asyncio.wait((turn, left), return_when=asyncio.FIRST_COMPLETED)
        if not turn.done():
            return False
        await turn
        return True
    finally:
        for task in (turn, left):
            task.cancel()
        await asyncio.gather(turn, left, return_exceptions=True)
