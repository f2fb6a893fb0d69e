"""Calls with a runner token, and the contacts that they leave behind."""

from datetime import datetime, timedelta
from typing import Any

from fastapi import Request

from api.runner.body import text
from api.services import Services
from auth.secret_token import digest
from domain.errors import Forbidden
from models.columns import Record
from models.repositories import runners

LEGACY_SYSTEM_ID = "<legacy>"
CONTACT_EVERY = timedelta(seconds=30)
"""A contact is written at most so often: polls shall cost no write."""


async def authenticated_runner(services: Services, request: Request, body: dict[str, Any]) -> Record:
    """The runner of a call: its token is in the body or in the header. Raises `Forbidden`."""
    token = text(body, "token") or request.headers.get("runner-token", "")
    async with services.database.read() as connection:
        row = await runners.by_token(connection, digest(token)) if token else None
    if row is None:
        raise Forbidden("403 Forbidden: no runner has this token; register it again.")
    return row


async def note_contact(services: Services, request: Request, runner: Record, body: dict[str, Any]) -> None:
    """Remember which process of the runner called, from where, and what it can; seldom enough to be cheap."""
    now: datetime = services.clock()
    system_id = text(body, "system_id") or LEGACY_SYSTEM_ID
    last = services.contacts.get((runner.id, system_id))
    if last is not None and now - last < CONTACT_EVERY:
        return
    services.contacts[runner.id, system_id] = now
    info = body.get("info")
    address = request.client.host if request.client else ""
    async with services.database.write() as connection:
        await runners.contact(connection, runner.id, system_id, info if isinstance(info, dict) else {}, address, now)
