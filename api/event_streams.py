"""Answers of server-sent events, for whoever may follow them and as long as they may.

Whoever signs out, is blocked, or whose token is revoked or at its end, is told nothing more: this is asked anew before
a part is sent, at most every `ASKED_EVERY` seconds. Quiet streams send a comment often enough to end soon, too.
"""

import asyncio
from collections.abc import AsyncIterator
from typing import Final

from fastapi import Request
from fastapi.responses import StreamingResponse
from fastapi.sse import format_sse_event

from api.deps import key_of, shown_caller
from api.services import Services
from auth.permissions import Caller
from domain.errors import PerdureError

COME_BACK: Final = format_sse_event(retry=2000)
"""The first words of each stream: whoever loses it comes back after two seconds."""
STILL_HERE: Final = format_sse_event(comment="still here")
"""What a quiet stream says now and then, so that proxies see that it lives."""
ASKED_EVERY: Final = 10.0
"""Seconds."""


def followed(request: Request, services: Services, caller: Caller, parts: AsyncIterator[bytes]) -> StreamingResponse:
    """A response of server-sent events for a caller. Raises `TooMany`."""
    key = key_of(request, caller)
    services.followers.require_room(key, services.clock())
    return StreamingResponse(
        services.followers.counted(key, while_known(request, services, caller, parts)),
        media_type="text/event-stream",
        headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"},
    )


async def while_known(
    request: Request, services: Services, caller: Caller, parts: AsyncIterator[bytes]
) -> AsyncIterator[bytes]:
    """Parts, as long as what the request shows is this caller's."""
    now = asyncio.get_running_loop().time
    asked = now()
    async for part in parts:
        if now() - asked >= ASKED_EVERY:
            try:
                shown = await shown_caller(request, services)
            except PerdureError:
                return
            if (shown.user_id, shown.is_admin) != (caller.user_id, caller.is_admin):
                return
            asked = now()
        yield part
