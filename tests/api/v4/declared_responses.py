"""Compares what the application answers with the types that its routes declare.

Twice, since FastAPI leaves out what a type does not name: what a route returned with what was sent of it, and what was
sent with the type.
"""

from collections.abc import Iterator
from contextvars import ContextVar
from functools import cache
from typing import Any, Final

import httpx
import orjson
from fastapi import routing
from fastapi.exceptions import ResponseValidationError
from pydantic import TypeAdapter, ValidationError
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api.openapi.document import PREFIX, has_type

_serialize: Final = routing.serialize_response
_handle: Final = routing.APIRoute.handle
_chosen: Final[ContextVar[list[routing.APIRoute]]] = ContextVar("_chosen")
"""The route that the call has come to; none where something before the routes answers."""
_returned: Final[ContextVar[list[Any]]] = ContextVar("_returned")
"""What the route of the call that is answered has returned, where that was no response yet; or why it cannot be one."""


class DeclaredResponses:
    """Middleware around the whole application; what it finds wrong it keeps until somebody asks."""

    def __init__(self, app: ASGIApp) -> None:
        """Watch `app`."""
        self._app = app
        self._faults: list[str] = []

    def require(self) -> None:
        """Raise `AssertionError` with what was wrong since the last time."""
        faults, self._faults = self._faults, []
        assert not faults, "\n".join(faults)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand on, and look at what comes back."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        chosen: list[routing.APIRoute] = []
        returned: list[Any] = []
        start: Message = {}
        parts: list[bytes] = []

        async def seen(message: Message) -> None:
            nonlocal start
            if message["type"] == "http.response.start":
                start = message
            elif _is_json(start):
                parts.append(message.get("body", b""))
                if not message.get("more_body", False):
                    for route in chosen:
                        self._faults += _faults_of(scope["method"], route, start["status"], b"".join(parts), returned)
            await send(message)

        tokens = _chosen.set(chosen), _returned.set(returned)
        try:
            await self._app(scope, receive, seen)
        finally:
            _chosen.reset(tokens[0])
            _returned.reset(tokens[1])
            self._faults += [str(error) for error in returned if isinstance(error, ResponseValidationError)]


class WatchedTransport(httpx.ASGITransport):
    """Calls an application, and raises `AssertionError` at once for a response that is unlike its declared type."""

    def __init__(self, app: ASGIApp, watch: DeclaredResponses, **options: Any) -> None:
        """`watch` is somewhere in `app`."""
        super().__init__(app, **options)
        self._watch = watch

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Call."""
        response = await super().handle_async_request(request)
        self._watch.require()
        return response


def _is_json(start: Message) -> bool:
    kinds = [value for name, value in start.get("headers", ()) if name.lower() == b"content-type"]
    return 200 <= start.get("status", 0) < 300 and kinds == [b"application/json"]


def _faults_of(method: str, route: routing.APIRoute, status: int, body: bytes, returned: list[Any]) -> Iterator[str]:
    """What is wrong with a response."""
    if not body:
        return
    model = route.responses.get(status, {}).get("model", route.response_model)
    call, found = f"{method} {route.path}: {status}", orjson.loads(body)
    if found and route.path.startswith(PREFIX) and not has_type(model):
        yield f"{call} answers JSON of which the route has no type"
    if model is None:
        return
    for value in returned:
        for fault in unlike(_document(value), found):
            yield f"{call} {fault} in what was sent, unlike what the route returned"
    try:
        declared = _adapter(model).validate_json(body, strict=True)
    except ValidationError as error:
        yield f"{call} is not as declared: {error}"
        return
    for fault in unlike(found, declared):
        yield f"{call} {fault} in the declared type of the response"


@cache
def _adapter(model: Any) -> TypeAdapter[Any]:
    return TypeAdapter(model)


def _document(value: Any) -> Any:
    return orjson.loads(orjson.dumps(value, default=dict, option=orjson.OPT_NON_STR_KEYS))


def unlike(found: Any, other: Any, place: str = "") -> Iterator[str]:
    """Where `other` is unlike `found`; both are documents of JSON."""
    if isinstance(found, dict) and isinstance(other, dict):
        for name in sorted(found.keys() ^ other.keys()):
            yield f"{place}.{name} is {'missing' if name in found else 'added'}"
        for name in found.keys() & other.keys():
            yield from unlike(found[name], other[name], f"{place}.{name}")
    elif isinstance(found, list) and isinstance(other, list) and len(found) == len(other):
        for one, another in zip(found, other, strict=True):
            yield from unlike(one, another, f"{place}[]")
    elif found != other or isinstance(found, bool) != isinstance(other, bool):
        yield f"{place}: {found!r} is {other!r}"


async def _noted(**options: Any) -> Any:
    returned = _returned.get(None)
    try:
        content = await _serialize(**options)
    except ResponseValidationError as error:
        if returned is not None:
            returned.append(error)
        raise
    if returned is not None and options.get("field") is not None:
        returned.append(options["response_content"])
    return content


async def _handled(route: routing.APIRoute, scope: Scope, receive: Receive, send: Send) -> None:
    _chosen.get([]).append(route)
    await _handle(route, scope, receive, send)


routing.serialize_response = _noted
routing.APIRoute.handle = _handled  # type: ignore[assignment,method-assign]
