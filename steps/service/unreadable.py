"""Requests that are no messages at all: gRPC would say UNKNOWN of them, and name classes of Python."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from google.protobuf.message import DecodeError

from domain.errors import Invalid
from steps.grpc_library import grpc


@dataclass(frozen=True, slots=True)
class Unreadable:
    """What comes in the place of such a request."""

    reason: str


class Reading(grpc.aio.ServerInterceptor):
    """Lets calls have `Unreadable` for what cannot be read, so that they refuse it as they refuse all else."""

    async def intercept_service(
        self, continuation: Callable[[grpc.HandlerCallDetails], Awaitable[Any]], handler_call_details: Any
    ) -> Any:
        """The handler of a call, which reads more carefully; None for a call that there is not."""
        handler = await continuation(handler_call_details)
        if handler is None:
            return None
        read = handler.request_deserializer

        def read_carefully(data: bytes) -> Any:
            try:
                return read(data)
            except DecodeError as error:
                return Unreadable(str(error))

        return handler._replace(request_deserializer=read_carefully)


def readable(request: Any) -> Any:
    """The request. Raises `Invalid` where it could not be read."""
    if isinstance(request, Unreadable):
        raise Invalid(f"the request cannot be read: {request.reason}")
    return request
