"""A body that was read already, for whoever reads it next."""

from starlette.types import Message, Receive


def replayed(body: bytes, after: Receive | None = None) -> Receive:
    """What gives a body once, and then what `after` gives; without it, it tells that its sender is done."""
    sent = False

    async def receive() -> Message:
        nonlocal sent
        if sent:
            return {"type": "http.disconnect"} if after is None else await after()
        sent = True
        return {"type": "http.request", "body": body, "more_body": False}

    return receive
