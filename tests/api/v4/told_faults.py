"""What a refusal says, whether it says it as a text or field by field."""

import httpx


def told_faults(response: httpx.Response) -> str:
    """The words of `message`; of fields each with its name before it."""
    message = response.json()["message"]
    if isinstance(message, str):
        return message
    return ", ".join(f"{name} {fault}" for name, faults in message.items() for fault in faults)
