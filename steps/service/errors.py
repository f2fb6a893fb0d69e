"""Errors of the project as gRPC tells them. Here alone the one becomes the other."""

import traceback
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from functools import wraps
from typing import Any, Final, NoReturn
from urllib.parse import quote

import structlog

from domain.errors import Forbidden, Invalid, NotFound, PerdureError, Refused, TooLarge, Unavailable
from steps.grpc_library import grpc
from steps.service.unreadable import readable

CODES: Final[Mapping[type[PerdureError], grpc.StatusCode]] = {
    Invalid: grpc.StatusCode.INVALID_ARGUMENT,
    NotFound: grpc.StatusCode.NOT_FOUND,
    Forbidden: grpc.StatusCode.PERMISSION_DENIED,
    TooLarge: grpc.StatusCode.RESOURCE_EXHAUSTED,
    Refused: grpc.StatusCode.FAILED_PRECONDITION,
    Unavailable: grpc.StatusCode.UNAVAILABLE,
}
MAX_DETAILS: Final = 6_000
"""Bytes of a message: it travels in a header, which is short, and in which many a character takes nine of them."""
MAX_LISTED: Final = 400
"""The same of each run in a list, of which a message holds as many as there may be."""
_ENDS: Final = "..."

log = structlog.get_logger()


def code_of(error: PerdureError) -> grpc.StatusCode:
    """The code for an error; that of the nearest class above it."""
    return next((code for kind, code in CODES.items() if isinstance(error, kind)), grpc.StatusCode.INTERNAL)


def shortened(text: str, size: int) -> str:
    """A text of so many bytes at most, as a header carries it."""
    if len(text) <= size and len(quote(text)) <= size:
        return text
    kept = text[:size]
    while len(quote(kept)) > size - len(_ENDS):
        kept = kept[: len(kept) * 9 // 10]
    return f"{kept}{_ENDS}"


async def _refuse(context: Any, error: PerdureError) -> NoReturn:
    await context.abort(code_of(error), shortened(str(error), MAX_DETAILS))
    raise AssertionError  # `abort` raises


async def _fail(context: Any, error: Exception) -> NoReturn:
    """The log gets the places, and no values of variables: requests have secrets."""
    places = [f"{one.filename}:{one.lineno} {one.name}" for one in traceback.extract_tb(error.__traceback__)]
    log.error("a call of the step runner failed", error=shortened(repr(error), MAX_DETAILS), places=places)
    await context.abort(grpc.StatusCode.INTERNAL, "the step runner failed; its log says why")
    raise AssertionError


def answered(call: Callable[[Any, Any, Any], Awaitable[Any]]) -> Callable[[Any, Any, Any], Awaitable[Any]]:
    """A call with one response, whose errors are told."""

    @wraps(call)
    async def telling(service: Any, request: Any, context: Any) -> Any:
        try:
            return await call(service, readable(request), context)
        except PerdureError as error:
            await _refuse(context, error)
        except Exception as error:  # noqa: BLE001  # whatever it is, the caller gets an answer, and the log the reason
            await _fail(context, error)

    return telling


def streamed(call: Callable[[Any, Any, Any], AsyncIterator[Any]]) -> Callable[[Any, Any, Any], AsyncIterator[Any]]:
    """A call with a stream of responses, likewise."""

    @wraps(call)
    async def telling(service: Any, request: Any, context: Any) -> AsyncIterator[Any]:
        try:
            await context.send_initial_metadata(())  # a caller sees that it is heard, however silent a run is
            async for response in call(service, readable(request), context):
                yield response
        except PerdureError as error:
            await _refuse(context, error)
        except Exception as error:  # noqa: BLE001  # likewise
            await _fail(context, error)

    return telling
