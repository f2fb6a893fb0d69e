"""Live pages: server-sent events with a part of the page, drawn anew when something has changed.

A notification is only a hint; every two seconds we look anyway. The id of an event is the version of the part, so a
browser that comes back gets exactly what it does not have yet, from whatever process answers.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Final

from fastapi import Request
from fastapi.responses import StreamingResponse
from fastapi.sse import format_sse_event

from api.event_streams import COME_BACK, STILL_HERE, followed
from api.pages.frame.templates import Fragment
from api.services import Services
from auth.permissions import Caller
from domain.errors import PerdureError

RECHECK: Final = 2.0
"""Seconds after which we look again even if nothing woke us."""
_PAUSE: Final = 0.3
"""Seconds after a change: a pipeline in full flight is not drawn more often."""
_QUIET_ROUNDS: Final = 7
"""After so many looks without a change a comment shows proxies that the connection lives."""

Draw = Callable[[], Awaitable[Fragment]]


def event_stream(request: Request, services: Services, caller: Caller, draw: Draw, *topics: str) -> StreamingResponse:
    """The events of one page; `topics` are the notifications, one at least, that hint at a change."""
    known = request.headers.get("last-event-id") or request.query_params.get("version", "")
    return followed(request, services, caller, events(services, draw, topics, known))


async def events(services: Services, draw: Draw, topics: tuple[str, ...], known: str) -> AsyncIterator[bytes]:
    """Events until the process drains, or the reader may not see the page any more."""
    yield COME_BACK
    quiet = 0
    while not services.drain.begun:
        waiters = {topic: services.notifications.subscribe(topic) for topic in topics}
        try:
            part = await draw()
            quiet += 1
            if part.version != known:
                yield event(part)
                known, quiet = part.version, 0
            elif quiet % _QUIET_ROUNDS == 0:
                yield STILL_HERE
            await asyncio.wait(waiters.values(), timeout=RECHECK, return_when=asyncio.FIRST_COMPLETED)
        except PerdureError:
            return
        finally:
            for topic, waiter in waiters.items():
                if not waiter.done():
                    services.notifications.leave(topic, waiter)
        await asyncio.sleep(_PAUSE)


def event(part: Fragment) -> bytes:
    """A part of a page as one event; the newlines of HTML become lines of data."""
    return format_sse_event(event="part", id=part.version, data_str=part.html.rstrip("\n"))
