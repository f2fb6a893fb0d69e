"""Live pages: server-sent events with what has changed of a page.

A notification is only a hint; every two seconds we look anyway. The id of an event is the version of all that is live,
so a browser that comes back gets exactly what it does not have yet, from whatever process answers. While it stays, only
the pieces that changed are sent.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from typing import Final

from fastapi import Request
from fastapi.responses import Response
from fastapi.sse import format_sse_event

from api.event_streams import COME_BACK, STILL_HERE, followed
from api.pages.frame.live_parts import Fragment
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
Further = Callable[[], Iterable[str]]


async def event_stream(
    request: Request, services: Services, caller: Caller, draw: Draw, *topics: str, further: Further = tuple
) -> Response:
    """The events of one page; `topics` are the notifications, one at least, that hint at a change.

    `further` tells after each look what else there is to be woken by. With `once`, for a page that nobody looks at:
    what there is now, and no more.
    """
    known = request.headers.get("last-event-id") or request.query_params.get("version", "")
    if "once" in request.query_params:
        return _once(await draw(), known)
    return followed(request, services, caller, events(services, draw, topics, known, further))


def _once(part: Fragment, known: str) -> Response:
    headers = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff", "X-Version": part.version}
    if part.version == known:
        return Response(status_code=204, headers=headers)
    return Response(part.since({}), media_type="text/plain; charset=utf-8", headers=headers)


async def events(
    services: Services, draw: Draw, topics: tuple[str, ...], known: str, further: Further = tuple
) -> AsyncIterator[bytes]:
    """Events until the process drains, or the reader may not see the page any more."""
    yield COME_BACK
    quiet = 0
    versions: Mapping[str, str] = {}
    while not services.drain.begun:
        wanted = {*topics, *further()}
        waiters = {topic: services.notifications.subscribe(topic) for topic in wanted}
        try:
            part = await draw()
            quiet += 1
            if part.version != known:
                yield event(part, versions)
                known, quiet = part.version, 0
            elif quiet % _QUIET_ROUNDS == 0:
                yield STILL_HERE
            versions = part.versions
            if wanted == {*topics, *further()}:  # else something may have happened there before we listened
                await asyncio.wait(waiters.values(), timeout=RECHECK, return_when=asyncio.FIRST_COMPLETED)
        except PerdureError:
            return
        finally:
            for topic, waiter in waiters.items():
                if not waiter.done():
                    services.notifications.leave(topic, waiter)
        await asyncio.sleep(_PAUSE)


def event(part: Fragment, versions: Mapping[str, str]) -> bytes:
    """What somebody lacks who has these versions, as one event; the newlines of HTML become lines of data."""
    return format_sse_event(event="part", id=part.version, data_str=part.since(versions).rstrip("\n"))
