"""What loops have in common: rounds for ever, every so often or when something is told; a fault ends a round only."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, TypeVar

import structlog

from models.notifications import Notifications

T = TypeVar("T")

log = structlog.get_logger()


async def every(
    seconds: float, work: Callable[[], Awaitable[object]], fault: str, *, begins_at_once: bool = False
) -> None:
    """Work for ever, with `seconds` between two rounds and before the first one; `fault` is logged when one fails."""
    if begins_at_once:
        await attempt(work, fault)
    while True:
        await asyncio.sleep(seconds)
        await attempt(work, fault)


async def when_told(
    notifications: Notifications,
    topic: str,
    work: Callable[[], Awaitable[float]],
    pause: float,
    fault: str,
    under_way: Callable[[], Iterable[asyncio.Future[Any]]] = tuple,
) -> None:
    """Work for ever, whenever the topic is told, or something ends that is under way.

    The work says for how many seconds nobody needs to look if nothing is told, 0 to go on at once; after a fault it is
    `pause`. What is told during a round begins the next one.
    """
    while True:
        waiter = notifications.subscribe(topic)
        try:
            quiet = await attempt(work, fault)
            quiet = pause if quiet is None else quiet
            if quiet:
                changes = [waiter, *under_way()]
                await asyncio.wait(changes, timeout=quiet, return_when=asyncio.FIRST_COMPLETED)
        finally:
            notifications.leave(topic, waiter)


async def attempt(work: Callable[[], Awaitable[T]], fault: str) -> T | None:
    """Work once; a fault is logged in these words, and gives None."""
    try:
        return await work()
    except Exception:
        log.exception(fault)
        return None
