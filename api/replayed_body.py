"""A body that was read already, for whoever reads it next."""

from starlette.types import Message, Receive


def replayed(body: bytes) -> Receive:
    """What gives a body once, and then tells that its sender is done."""
    sent = False

    async def receive() -> Message:
        nonlocal sent
        if sent:
            return {"type": "http.disconnect"}
        sent = True
        return {"type": "http.request", "body": body, "more_body": False}

    return receive
