"""A runner that is gone when its response comes."""

import orjson
from starlette.types import Message

from api.app import create_app
from tests.api.runner.world import RUNNER_TOKEN, World


async def hang_up(world: World) -> list[Message]:
    """Ask for a job, and be gone when the response comes; what would have been sent."""
    body = orjson.dumps({"token": RUNNER_TOKEN, "system_id": "s_tests"})
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]
    sent: list[Message] = []

    async def receive() -> Message:
        return messages.pop(0) if messages else {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "POST",
        "scheme": "http",
        "path": "/api/v4/jobs/request",
        "raw_path": b"/api/v4/jobs/request",
        "query_string": b"",
        "root_path": "",
        "headers": [(b"host", b"perdure.test")],
        "client": ("127.0.0.1", 1),
        "server": ("perdure.test", 80),
    }
    await create_app(world.services)(scope, receive, send)
    return sent
