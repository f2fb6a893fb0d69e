"""Bodies of runner calls: JSON objects, read leniently because runners of many versions send them."""

from typing import Any

import orjson
from fastapi import Request

from domain.errors import Invalid, TooLarge


async def json_object(request: Request, limit: int) -> dict[str, Any]:
    """The JSON object of a body; an empty body is an empty object. Raises `Invalid`, `TooLarge`."""
    raw = await limited_body(request, limit, "PERDURE_JSON_BYTES")
    if not raw:
        return {}
    try:
        document = orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        raise Invalid(f"400 Bad request: the body is not JSON ({error}).") from error
    if not isinstance(document, dict):
        raise Invalid("400 Bad request: the body must be a JSON object.")
    return document


async def limited_body(request: Request, limit: int, setting: str) -> bytes:
    """The bytes of a body. Raises `TooLarge` as soon as there are more than `limit`."""
    announced = request.headers.get("content-length", "")
    parts = bytearray()
    if not (announced.isdigit() and int(announced) > limit):
        async for part in request.stream():
            parts += part
            if len(parts) > limit:
                break
        else:
            return bytes(parts)
    raise TooLarge(f"413 Request Entity Too Large: at most {limit} bytes are taken here ({setting}).")


def text(document: dict[str, Any], name: str, default: str = "") -> str:
    """A string of the body, or the default when it is absent or of another type."""
    value = document.get(name)
    return value if isinstance(value, str) else default
