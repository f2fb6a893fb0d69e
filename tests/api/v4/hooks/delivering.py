"""Webhooks of a site, delivered without Temporal."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from activities.hooks.deliveries import HookActivities, NotYet
from domain.messages import DeliverHook
from models.notifications import HOOKS
from models.repositories.hooks import hook_deliveries
from tests.activities.receiver import Receiver, local_poster
from tests.api.v4.site import Site
from tests.waiting import eventually


@asynccontextmanager
async def told(site: Site) -> AsyncIterator[None]:
    """In the place of Temporal: each delivery that is due is tried at once."""
    services = site.services
    activities = HookActivities(
        services.database, services.notifications, local_poster(), services.sealer, services.clock, services.settings
    )

    over = asyncio.Event()

    async def work() -> None:
        while not over.is_set():
            waiter = services.notifications.subscribe(HOOKS)
            async with services.database.read() as connection:
                due = await hook_deliveries.DUE.due(connection, services.clock(), 100)
            for row in due:
                with suppress(NotYet):
                    await activities.deliver_hook(DeliverHook(row.id))
            await asyncio.wait([waiter], timeout=0.1)
            services.notifications.leave(HOOKS, waiter)

    task = asyncio.create_task(work())
    try:
        yield
    finally:
        over.set()
        await task


async def until(receiver: Receiver, number: int) -> None:
    """Wait until a receiver has got so many requests."""

    async def enough() -> bool:
        return len(receiver.got) >= number

    await eventually(enough, f"{number} requests came")
    assert len(receiver.got) == number, receiver.kinds()
