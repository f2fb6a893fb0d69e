"""Errors of the project as gRPC tells them. Here alone the one becomes the other."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from functools import wraps
from typing import Any, Final, NoReturn

import structlog

from domain.errors import Forbidden, Invalid, NotFound, PerdureError, Refused, TooLarge, Unavailable
from steps.grpc_library import grpc

CODES: Final[Mapping[type[PerdureError], grpc.StatusCode]] = {
    Invalid: grpc.StatusCode.INVALID_ARGUMENT,
    NotFound: grpc.StatusCode.NOT_FOUND,
    Forbidden: grpc.StatusCode.PERMISSION_DENIED,
    TooLarge: grpc.StatusCode.RESOURCE_EXHAUSTED,
    Refused: grpc.StatusCode.FAILED_PRECONDITION,
    Unavailable: grpc.StatusCode.UNAVAILABLE,
}
MAX_DETAILS: Final = 6_000
"""Characters of a message: it travels in a header, which is short."""

log = structlog.get_logger()


def code_of(error: PerdureError) -> grpc.StatusCode:
    """The code for an error; that of the nearest class above it."""
    return next((code for kind, code in CODES.items() if isinstance(error, kind)), grpc.StatusCode.INTERNAL)


async def _refuse(context: Any, error: PerdureError) -> NoReturn:
    text = str(error)
    await context.abort(code_of(error), text if len(text) <= MAX_DETAILS else f"{text[:MAX_DETAILS]}...")
    raise AssertionError  # `abort` raises


async def _fail(context: Any, error: Exception) -> NoReturn:
    log.error("a call of the step runner failed", exc_info=error)
    await context.abort(grpc.StatusCode.INTERNAL, "the step runner failed; its log says why")
    raise AssertionError


def answered(call: Callable[[Any, Any, Any], Awaitable[Any]]) -> Callable[[Any, Any, Any], Awaitable[Any]]:
    """A call with one response, whose errors are told."""

    @wraps(call)
    async def telling(service: Any, request: Any, context: Any) -> Any:
        try:
            return await call(service, request, context)
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
            async for response in call(service, request, context):
                yield response
        except PerdureError as error:
            await _refuse(context, error)
        except Exception as error:  # noqa: BLE001  # likewise
            await _fail(context, error)

    return telling
