"""The door for forges: a call is verified, kept once, and carried out later.

Nobody signs in here: the signature over the raw body is all. An unknown hook and a wrong signature are the same 401.
"""

import hashlib
from typing import Annotated, Any, Final

import orjson
from fastapi import Path, Request
from fastapi.responses import JSONResponse
from starlette.requests import ClientDisconnect

from api.deps import ServicesDep
from api.routes import RouteList
from domain.errors import Invalid, TooLarge, Unauthenticated
from domain.hooks.incoming import Forge, Wish, delivery_of, event_of, is_genuine
from domain.size_limits import of_installation
from models.repositories.hooks import incoming_hooks
from models.repositories.projects import mirrors

_ANSWERS: Final = {
    Wish.NOTHING: "Nothing is to be done for this event.",
    Wish.PULL: "The mirror is pulled.",
    Wish.PIPELINE: "The mirror is pulled, and the pull request gets its pipeline.",
}

AGAIN: Final = "This delivery came before; nothing is done again."
NOT_MIRRORED: Final = "The project is not mirrored, so nothing is fetched; set its pull mirror up."

router = RouteList(prefix="/api/hooks", include_in_schema=False)


@router.post("/{hook_id}", status_code=202)
async def called(
    hook_id: Annotated[int, Path(ge=1, le=2**53)], request: Request, services: ServicesDep
) -> JSONResponse:
    """Take a call of a forge."""
    body = await _body(request, services.settings.sizes.hook_bytes)
    headers = {name.lower(): value for name, value in request.headers.items()}
    async with services.database.read() as connection:
        row = await incoming_hooks.find(connection, hook_id)
    forge = Forge.GITHUB if row is None else Forge(row.forge)
    now = services.clock()
    secret = "" if row is None else services.sealer.open(row.secret, incoming_hooks.purpose(row.project_id))
    genuine = is_genuine(forge, secret, headers, body, now)
    if row is None or not genuine:
        raise Unauthenticated("Unauthorized")
    event = event_of(forge, headers, _document(body))
    is_request = event.wish is Wish.PIPELINE
    values: dict[str, Any] = {
        "event": event.name[:100],
        "request": event.document(),
        "body_digest": hashlib.sha256(body).hexdigest() if is_request else None,
        "done_at": None if is_request else now,
    }
    async with services.database.write() as connection:
        is_new = await incoming_hooks.note(connection, row.id, delivery_of(forge, headers, body), now, **values)
        pulls = is_new and event.wish is not Wish.NOTHING
        is_mirrored = not pulls or await mirrors.schedule(connection, row.project_id, now)
    text = _ANSWERS[event.wish] if is_new else AGAIN
    return JSONResponse({"message": f"202 Accepted: {text if is_mirrored else NOT_MIRRORED}"}, 202)


async def _body(request: Request, limit: int) -> bytes:
    """The raw body, at most so many bytes. Raises `TooLarge`, `Invalid` for one that is cut."""
    parts: list[bytes] = []
    size = 0
    try:
        async for part in request.stream():
            size += len(part)
            if size > limit:
                raise TooLarge(of_installation("PERDURE_HOOK_BYTES", limit).exceeded("the call"))
            parts.append(part)
    except ClientDisconnect as error:
        raise Invalid("Bad request: the body is cut.") from error
    return b"".join(parts)


def _document(body: bytes) -> dict[str, Any]:
    try:
        document = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise Invalid("Bad request: the body is not JSON; let the forge send application/json.") from error
    if not isinstance(document, dict):
        raise Invalid("Bad request: the body must be a JSON object.")
    return document
