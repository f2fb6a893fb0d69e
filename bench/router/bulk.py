"""A pod for large bodies and held polls, as light as Python makes it: `python -m bench.router.bulk PORT`.

GET gives SIZE bytes; every other body is read and dropped; POST /api/v4/jobs/request is held for HELD seconds.
"""

import asyncio
import sys
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Final

import uvicorn

SIZE: Final = 1024**3
HELD: Final = 20.0
_CHUNK: Final = bytes(256 * 1024)
_POLL: Final = "/api/v4/jobs/request"

Message = MutableMapping[str, Any]


async def application(
    scope: Message, receive: Callable[[], Awaitable[Message]], send: Callable[[Message], Awaitable[None]]
) -> None:
    """An ASGI application."""
    if scope["type"] != "http":
        return
    while (await receive()).get("more_body"):
        pass
    if scope["method"] == "GET":
        length = [(b"content-length", b"%d" % SIZE)]
        await send({"type": "http.response.start", "status": 200, "headers": length})
        for _ in range(SIZE // len(_CHUNK)):
            await send({"type": "http.response.body", "body": _CHUNK, "more_body": True})
    else:
        if scope["path"] == _POLL:
            await asyncio.sleep(HELD)
        await send({"type": "http.response.start", "status": 204, "headers": []})
    await send({"type": "http.response.body", "body": b""})


if __name__ == "__main__":
    options = uvicorn.Config(
        application,
        port=int(sys.argv[1]),
        http="httptools",
        lifespan="off",
        access_log=False,
        log_config=None,
        backlog=4096,
    )
    uvicorn.Server(options).run()
