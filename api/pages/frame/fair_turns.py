"""Drawing a large page takes the event loop some milliseconds, several times: of all pages one at a time.

Else everybody who draws at the same moment would do so in the same round of the loop, and whoever only asks for a job
would wait for all of them, several times over.
"""

import asyncio
from typing import Final
from weakref import WeakKeyDictionary

_LOCKS: Final[WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock]] = WeakKeyDictionary()


async def fair_turn() -> None:
    """Wait for a round of the loop in which no other page is drawn, and in which what was due has had its turn."""
    async with _LOCKS.setdefault(asyncio.get_running_loop(), asyncio.Lock()):
        await asyncio.sleep(0)
