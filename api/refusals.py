"""Addresses whose tokens are refused again and again: their refusals come late, so that guessing costs them the time.

Only a response that refuses is held back: good callers behind the same address notice nothing, and a bad token stays a
403. Runners sleep after that, but come again after a 429 (docs/reference/reliability.md, "What a stock runner
survives", "Slow and flooding clients"). Each process counts for itself.
"""

import asyncio
import random
from collections import OrderedDict
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from domain.client_network import network_of
from settings import RefusalLimits

_REMEMBERED: Final = 10_000
"""Addresses; the one that was not refused for the longest time is forgotten first."""
_WINDOW: Final = 60.0
"""Seconds in which the number of prompt refusals is given anew."""
_READS: Final = frozenset({"GET", "HEAD"})
_TOKEN_HEADERS: Final = frozenset({b"authorization", b"private-token", b"job-token", b"runner-token"})


@dataclass(slots=True)
class _Account:
    """How many refusals an address may still get at once, as of a moment; below zero so many have to wait."""

    left: float
    moment: float


class Refusals:
    """Counts the refusals of each address, and holds those back that are too many."""

    def __init__(self, limits: RefusalLimits) -> None:
        """Take how many are prompt, how late the others come at most, and how many may wait."""
        self._limits = limits
        self._rate = limits.prompt_refusals / _WINDOW
        self._accounts: OrderedDict[bytes, _Account] = OrderedDict()
        self._held: set[asyncio.Timeout] = set()
        self._stopping = False

    @property
    def held(self) -> int:
        """How many are held back now."""
        return len(self._held)

    def turn(self, address: bytes, now: float) -> float:
        """Note one more refusal; the seconds after which it has its turn."""
        most, latest = self._limits.prompt_refusals, self._limits.refusal_pause
        account = self._accounts.pop(address, None) or _Account(most, now)
        self._accounts[address] = account
        if len(self._accounts) > _REMEMBERED:
            self._accounts.popitem(last=False)
        left = min(account.left + (now - account.moment) * self._rate, most) - 1
        account.left, account.moment = max(left, -latest * self._rate), now
        return max(0.0, -account.left / self._rate)

    async def hold(self, host: str, receive: Receive) -> None:
        """Return when a refusal for a client at `host` may be sent, or the client has gone.

        What is left of its body is thrown away meanwhile. Where no further place is free it is sent at once: a 429
        would keep runners with bad tokens coming, and a response that never comes would look like an outage.
        """
        seconds = self.turn(network_of(host), asyncio.get_running_loop().time())
        if not seconds or self._stopping or self.held >= self._limits.held_refusals:
            return
        patience = asyncio.timeout(seconds * random.uniform(0.5, 1))  # those who came together do not go together
        self._held.add(patience)
        try:
            with suppress(TimeoutError):
                async with patience:
                    while (await receive())["type"] != "http.disconnect":
                        pass
        finally:
            self._held.discard(patience)

    def let_go(self) -> None:
        """Send what is held, and hold nothing more: the process is about to stop."""
        self._stopping = True
        for patience in self._held:
            if not patience.expired():
                patience.reschedule(0)


class LateRefusals:
    """Middleware that sends refusals late to clients that `Refusals` says have had too many."""

    def __init__(self, app: ASGIApp, refusals: Refusals) -> None:
        """`app` answers."""
        self._app = app
        self._refusals = refusals

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on; the first message of its response waits."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        scope.setdefault("state", {})  # what `note_guess` writes reaches us also through copies of the scope

        async def late(message: Message) -> None:
            if message["type"] == "http.response.start" and _refuses_a_token(scope, message):
                client = scope.get("client")
                await self._refusals.hold(client[0] if client else "", receive)
            await send(message)

        await self._app(scope, receive, late)


def note_guess(request: Request) -> None:
    """The response to this request refuses a token, though its status does not say so."""
    request.state.refuses_token = True


def _refuses_a_token(scope: Scope, message: Message) -> bool:
    """Whether a response refuses what may have been guessed.

    The token of a job that has ended was right, and says so in `Job-Status`. Git and container tools ask without any
    first, so that a 401 tells them to show one.
    """
    if scope["state"].get("refuses_token"):
        return True
    if message["status"] == HTTPStatus.FORBIDDEN:
        return all(name != b"job-status" for name, _ in message.get("headers", ()))
    return message["status"] == HTTPStatus.UNAUTHORIZED and not (scope["method"] in _READS and _shows_nothing(scope))


def _shows_nothing(scope: Scope) -> bool:
    return b"token=" not in scope["query_string"] and all(name not in _TOKEN_HEADERS for name, _ in scope["headers"])
