"""Calls with a runner token, and the contacts that they leave behind."""

from typing import Any, Final

from fastapi import Request

from api.runner.body import text
from api.services import Services
from api.shown_tokens import agreed
from application.moves.away import refusal
from auth.secret_token import digest
from domain.errors import Forbidden, PerdureError
from domain.runners.info import LEGACY_SYSTEM_ID, kept_info
from models.notifications import RUNNERS
from models.repositories.queue.candidates import KnownRunner
from models.repositories.queue.contacts import Contact
from models.repositories.runners import runners
from models.rows.runners import RunnerRow

_UNKNOWN: Final = "Forbidden: no runner has this token; register it again."


async def polling_runner(services: Services, request: Request, body: dict[str, Any]) -> KnownRunner:
    """The runner that asks for a job, as this process knows it (`api.runner.known_runners`). Raises `Forbidden`."""
    token = shown_token(request, body)
    known = await services.runners.by_hash(digest(token))
    if known is None:
        raise await _unknown(services, token)
    return known


async def authenticated_runner(services: Services, request: Request, body: dict[str, Any]) -> RunnerRow:
    """The runner of a call as the database has it now. Raises `Forbidden`."""
    token = shown_token(request, body)
    shown = digest(token)
    async with services.database.read() as connection:
        row = await runners.by_token(connection, shown)
    if row is None:
        raise await _unknown(services, token)
    if row.previous_token_hash is not None and row.token_hash == shown:
        async with services.database.write() as connection:
            await runners.retire_previous_token(connection, row.id, shown)
        await services.notifications.tell(RUNNERS)
    return row


async def _unknown(services: Services, token: str) -> PerdureError:
    """What whoever shows a token is told that no runner has here: it may be on its way to another pod."""
    if services.leaving is not None and (await services.leaving.now()).is_theirs(token):
        return refusal()
    return Forbidden(_UNKNOWN)


def shown_token(request: Request, body: dict[str, Any]) -> str:
    """The token that a runner shows, in the body or in the header; empty without one. Raises `Invalid` for two."""
    return agreed(text(body, "token"), request.headers.get("runner-token", ""))


async def note_contact(
    services: Services, request: Request, runner_id: int, body: dict[str, Any], *, always: bool = False
) -> None:
    """Remember which process of the runner called, from where, and what it can; seldom enough to be cheap.

    The first one is written at once; `always` is for calls that are rare themselves: theirs are, too.
    """
    system_id = text(body, "system_id") or LEGACY_SYSTEM_ID
    if not always and not services.contacts.is_due(runner_id, system_id):
        return
    address = request.client.host if request.client else ""
    await services.contacts.note(Contact(runner_id, system_id, kept_info(body.get("info")), address))
    if always:
        await services.contacts.flush()
