"""`Idempotency-Key` on calls of the REST API that make something: the same call again gets the same response.

The key is noted before the call is carried out and its response kept after it, so that who never saw it can call again
(IETF draft "The Idempotency-Key HTTP Header Field"). A process that dies in between leaves a call of which nobody
knows whether it was carried out: it is never carried out again under that key. Of who shows neither a token in a header
nor a session the key is passed over, as if it were not there.
"""

import hashlib
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final
from urllib.parse import unquote

from fastapi import Request
from fastapi.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api.deps import shown_caller
from api.errors import answer_to
from api.pods.job_of_pod import job_of_pod
from api.replayed_body import replayed
from api.services import Services
from domain.errors import PerdureError
from models.repositories.installation import idempotent_calls
from models.rows.idempotency import IdempotentCallRow

_METHODS: Final = frozenset({"POST"})
_PREFIX: Final = "/api/v4/"
_MAX_KEY: Final = 255
_MAX_BODY: Final = 1024 * 1024
"""Bytes of a response that is kept."""
_TOKENS: Final = (b"private-token", b"job-token", b"authorization", b"cookie")
_REPLAYED: Final = (b"idempotent-replayed", b"true")
_PURPOSE: Final = "idempotent_call"


@dataclass(frozen=True, slots=True)
class _Key:
    """Whose key it is; two people may use the same."""

    caller: str
    key: str


class IdempotentCalls:
    """Middleware that carries out a call once for each key of a caller."""

    def __init__(self, app: ASGIApp, services: Services) -> None:
        """`app` answers."""
        self._app = app
        self._services = services

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Carry out a call, or repeat the response of the first one of its key."""
        key = _key_of(scope)
        if key is None:
            await self._app(scope, receive, send)
            return
        body = await _whole(receive, self._services.settings.sizes.json_bytes)
        if body is None or not 0 < len(key.key) <= _MAX_KEY:
            text = f"400 Bad request: an Idempotency-Key has 1 to {_MAX_KEY} characters, and its call a small body."
            await JSONResponse({"message": text}, HTTPStatus.BAD_REQUEST)(scope, receive, send)
            return
        services, fingerprint = self._services, _fingerprint(scope, body)
        try:
            caller = await shown_caller(Request(scope), services)  # a response may hold a token
        except PerdureError as error:
            await answer_to(error)(scope, receive, send)
            return
        if not caller.is_known:  # nobody whose key it could be; and no stranger fills the database
            await self._app(scope, replayed(body, receive), send)
            return
        async with services.database.write() as connection:
            known = await idempotent_calls.begin(connection, key.caller, key.key, fingerprint, services.clock())
        if known is None:
            await self._carry_out(scope, replayed(body, receive), send, key)
        else:
            await self._repeat(known, fingerprint, scope, receive, send)

    async def _carry_out(self, scope: Scope, receive: Receive, send: Send, key: _Key) -> None:
        response = _Answer()
        try:
            await self._app(scope, receive, response.take)
        except BaseException:
            await self._forget(key)
            raise
        failed = response.status >= HTTPStatus.INTERNAL_SERVER_ERROR or response.status == HTTPStatus.TOO_MANY_REQUESTS
        if failed or len(response.body) > _MAX_BODY:
            await self._forget(key)  # nothing was done, or nobody can say it again
        else:
            sealed = self._services.sealer.seal(response.body.decode("latin-1"), _PURPOSE).encode()
            kind = response.header(b"content-type").decode("latin-1")
            async with self._services.database.write() as connection:
                await idempotent_calls.end(connection, key.caller, key.key, response.status, kind, sealed)
        for message in response.messages:
            await send(message)

    async def _forget(self, key: _Key) -> None:
        async with self._services.database.write() as connection:
            await idempotent_calls.forget(connection, key.caller, key.key)

    async def _repeat(
        self, known: IdempotentCallRow, fingerprint: str, scope: Scope, receive: Receive, send: Send
    ) -> None:
        if known.fingerprint != fingerprint:
            text = "422 Unprocessable: this Idempotency-Key was used for another call; take a new one for each call."
            await JSONResponse({"message": text}, HTTPStatus.UNPROCESSABLE_ENTITY)(scope, receive, send)
            return
        if known.status is None:
            text = (
                "409 Conflict: a call with this Idempotency-Key was begun and has no answer; it is being carried out, "
                "or the server stopped meanwhile. Look whether it was done before you call with another key."
            )
            await JSONResponse({"message": text}, HTTPStatus.CONFLICT, {"Retry-After": "2"})(scope, receive, send)
            return
        body = self._services.sealer.open(known.answer.decode(), _PURPOSE).encode("latin-1")
        headers = [
            (b"content-type", known.content_type.encode("latin-1")),
            (b"content-length", str(len(body)).encode()),
            _REPLAYED,
        ]
        await send({"type": "http.response.start", "status": known.status, "headers": headers})
        await send({"type": "http.response.body", "body": body})


class _Answer:
    """A response that is held until it is kept."""

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.status = 0
        self._parts: list[bytes] = []

    async def take(self, message: Message) -> None:
        self.messages.append(message)
        if message["type"] == "http.response.start":
            self.status = message["status"]
        elif message["type"] == "http.response.body":
            self._parts.append(message.get("body", b""))

    @property
    def body(self) -> bytes:
        return b"".join(self._parts)

    def header(self, name: bytes) -> bytes:
        start = self.messages[0] if self.messages else {"headers": ()}
        return next((value for known, value in start.get("headers", ()) if known.lower() == name), b"")


def _key_of(scope: Scope) -> _Key | None:
    if scope["type"] != "http" or scope["method"] not in _METHODS or not scope["path"].startswith(_PREFIX):
        return None
    headers = dict(reversed(scope["headers"]))
    given = headers.get(b"idempotency-key")
    if given is None:
        return None
    calling = job_of_pod(scope)
    who = [headers.get(name, b"") for name in _TOKENS] + ([calling.key.encode()] if calling else [])
    shown = b"\0".join(who) + b"\0" + scope["query_string"]
    text = given.decode("latin-1").strip().strip('"')
    return _Key(hashlib.sha256(shown).hexdigest(), text)


def _fingerprint(scope: Scope, body: bytes) -> str:
    path = unquote(scope["path"])  # segments may still be encoded
    parts = (scope["method"].encode(), path.encode(), scope["query_string"], body)
    return hashlib.sha256(b"\0".join(parts)).hexdigest()


async def _whole(receive: Receive, limit: int) -> bytes | None:
    """The body of a call; None for one that is too large, or was cut."""
    parts, size = [], 0
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return None
        part = message.get("body", b"")
        size += len(part)
        if size > limit:
            return None
        parts.append(part)
        if not message.get("more_body"):
            return b"".join(parts)
