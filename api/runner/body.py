"""Bodies of runner calls: JSON objects or forms, read leniently because runners of many versions send them."""

from typing import Any, Final
from urllib.parse import parse_qsl

import orjson
from fastapi import Request

from domain.errors import Invalid, TooLarge
from domain.size_limits import SizeLimit, fixed, of_installation
from settings import SizeLimits

_FORM: Final = "application/x-www-form-urlencoded"
_FALSE: Final = frozenset({"", "0", "f", "false", "n", "no", "off"})
_MAX_FIELDS: Final = 1_000
SMALL: Final = fixed("such calls", 32 * 1024)
"""Of calls that every front may have to read before it knows where they go."""


def json_limit(sizes: SizeLimits) -> SizeLimit:
    """How large most JSON documents may be."""
    return of_installation("PERDURE_JSON_BYTES", sizes.json_bytes)


async def json_object(request: Request, limit: SizeLimit) -> dict[str, Any]:
    """The JSON object of a body, or its form; an empty body is an empty object. Raises `Invalid`, `TooLarge`."""
    raw = await limited_body(request, limit, "the body")
    if not raw:
        return {}
    # curl says "form" of everything that it is given to send, JSON included.
    if request.headers.get("content-type", "").partition(";")[0] == _FORM and not raw.lstrip().startswith(b"{"):
        return _form(raw)
    try:
        document = orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        raise Invalid(f"Bad request: the body is not JSON ({error}).") from error
    if not isinstance(document, dict):
        raise Invalid("Bad request: the body must be a JSON object.")
    return document


def _form(raw: bytes) -> dict[str, Any]:
    """Fields of a form: strings; of a repeated one the last, of `name[]` a list of all."""
    try:
        pairs = parse_qsl(raw.decode(), keep_blank_values=True, max_num_fields=_MAX_FIELDS)
    except ValueError as error:
        raise Invalid(f"Bad request: the body is not a form ({error}).") from error
    fields: dict[str, Any] = {}
    for name, value in pairs:
        if name.endswith("[]"):
            fields.setdefault(name.removesuffix("[]"), []).append(value)
        else:
            fields[name] = value
    return fields


async def limited_body(request: Request, limit: SizeLimit, what: str) -> bytes:
    """The bytes of a body, which is `what`. Raises `TooLarge` as soon as there are more than the limit."""
    announced = request.headers.get("content-length", "")
    size = int(announced) if announced.isascii() and announced.isdigit() else None
    parts = bytearray()
    if size is None or size <= limit.size:
        async for part in request.stream():
            parts += part
            if len(parts) > limit.size:
                break
        else:
            return bytes(parts)
    raise TooLarge(limit.exceeded(what, size))


def text(document: dict[str, Any], name: str, default: str = "") -> str:
    """A string of the body, or the default when it is absent or of another type. No database keeps a NUL."""
    value = document.get(name)
    return value.replace("\0", "") if isinstance(value, str) else default


def number(document: dict[str, Any], name: str, largest: int = 2**53) -> int | None:
    """An integer of the body, or None when it is absent, of another type or larger than anything we keep."""
    value = document.get(name)
    return value if type(value) is int and abs(value) <= largest else None


def flag(document: dict[str, Any], name: str, *, default: bool) -> bool:
    """A yes or no of the body; forms say it in words."""
    value = document.get(name)
    if value is None:
        return default
    return value.lower() not in _FALSE if isinstance(value, str) else bool(value)
