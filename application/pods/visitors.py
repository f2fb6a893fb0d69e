"""Visitors of this pod: who has come with a ticket, and who is expected since somebody here made them a member."""

from datetime import datetime, timedelta
from typing import Final

import structlog
from sqlalchemy.ext.asyncio import AsyncConnection

from application.accounts.proof_of_identity import Proven
from application.audit import record
from application.pods.cluster import Cluster
from application.services import Services
from auth.permissions import Caller
from auth.visit_ticket import Ticket, read_ticket
from domain.errors import Forbidden, NotFound, PerdureError, Unauthenticated, Unavailable
from domain.pods.visits import REFUSED, Guest, Known, row_of, state_by_home
from domain.projects.path_names import is_path
from domain.token_chains import TOKEN_ELSEWHERE
from models.notifications import RUNNERS
from models.repositories.accounts import accounts, visits
from models.repositories.installation.audit import Entity, Happened
from models.repositories.namespaces import namespaces
from models.rows.accounts import UserRow

_REMEMBERED: Final = timedelta(minutes=1)
"""How much longer than it is good a ticket is known as used: clocks differ."""

log = structlog.get_logger()


def require_own(services: Services, row: UserRow, what: str) -> None:
    """Raise `Forbidden` for a visitor, who may do `what` at home."""
    if row.home_pod is not None:
        home = str(row.home_pod) if services.cluster is None else services.cluster.name_of(row.home_pod)
        raise Forbidden(f"Forbidden: {row.username} is a visitor here; {what} in pod {home}.")


async def arrived(services: Services, cluster: Cluster, token: str, address: str) -> Proven:
    """The person who shows a ticket of their home pod; whoever comes for the first time gets a row.

    Raises `Unauthenticated`, always in the same words, and `Unavailable` where the directory was never heard of.
    """
    try:
        ticket = read_ticket(cluster.follower.current(), cluster.pod_number, token)
        row, is_new = await _let_in(services, ticket, address)
    except Unauthenticated:
        log.info("somebody was not let in from another pod", address=address)
        raise
    if is_new:
        await services.notifications.tell(RUNNERS)
    return Proven(row, TOKEN_ELSEWHERE if ticket.guest.by_token else 0)


async def _let_in(services: Services, ticket: Ticket, address: str) -> tuple[UserRow, bool]:
    guest, now = ticket.guest, services.clock()
    async with services.database.write() as connection:
        if not await visits.use_ticket(connection, ticket.ticket_id, ticket.expires_at + _REMEMBERED, now):
            raise Unauthenticated(REFUSED)
        person = await visits.by_home(connection, guest.home_pod, guest.home_id)
        namesake = await visits.by_name(connection, guest.username)
        key = row_of(guest, _known(person), _known(namesake))
        if key is None:
            row = await _made(connection, guest.username, now, _of_home(guest))
            caller = Caller(row.id, row.username, address=address)
            await _note(connection, caller, row, Happened("user_created", {"home_pod": guest.home_pod}), now)
        else:
            row = await _brought_up_to_date(connection, await accounts.get(connection, key), guest, address, now)
        if row.state != accounts.ACTIVE:
            raise Unauthenticated(REFUSED)
    return row, key is None


async def expected(services: Services, caller: Caller, username: str) -> str:
    """What a person is called here whom somebody names to make them a member: a row of theirs is made if need be.

    A name of another pod's person gets one before they ever came; any other name stays as it is. Raises `Unavailable`
    while the directory, which alone knows whether it is a person's, is away.
    """
    cluster = services.cluster
    if cluster is None or not is_path(username):
        return username
    async with services.database.read() as connection:
        known = await visits.by_name(connection, username)
    if known is not None:
        return username if known.home_pod is None else known.username
    home = await _home_of_person(cluster, username)
    if home is None:
        return username
    now = services.clock()
    try:
        async with services.database.write() as connection:
            row = await _made(connection, username, now, {"name": username, "email": "", "home_pod": home})
            await _note(connection, caller, row, Happened("user_created", {"home_pod": home}), now)
    except Unauthenticated:
        return username  # somebody was quicker to take the name: a visitor has it now, or a group
    await services.notifications.tell(RUNNERS)
    return row.username


async def _home_of_person(cluster: Cluster, username: str) -> int | None:
    """The pod in which a person of this name is at home; None for an organisation, and for nobody.

    The claim tells them apart: that of an organisation was confirmed for its id.
    """
    try:
        placed = await cluster.client.placed(username)
    except NotFound:
        return None
    except PerdureError as error:
        raise Unavailable(
            f"The directory of the pods is away, which has to know where {username} is at home. Try this again in a "
            "few seconds."
        ) from error
    is_elsewhere = placed.is_person and placed.pod_number != cluster.pod_number
    return placed.pod_number if is_elsewhere else None


async def _made(connection: AsyncConnection, username: str, now: datetime, values: dict[str, object]) -> UserRow:
    """A new row. Raises `Unauthenticated` where something here has the name already."""
    is_free = await namespaces.is_free(connection, username)
    key = await visits.add(connection, username, now, **values) if is_free else None
    if key is None:
        raise Unauthenticated(REFUSED)
    return await accounts.get(connection, key)


async def _brought_up_to_date(
    connection: AsyncConnection, row: UserRow, guest: Guest, address: str, now: datetime
) -> UserRow:
    """The row as home says; who was made external here stays so."""
    values = _of_home(guest) | {"username": guest.username, "external": row.external or guest.external}
    values["state"] = state_by_home(row.state, is_blocked=False)  # home gives a ticket to nobody whom it has blocked
    changed = {name: value for name, value in values.items() if getattr(row, name) != value}
    await accounts.change(connection, row.id, **changed)
    if "username" in changed:
        caller = Caller(row.id, row.username, address=address)
        await _note(connection, caller, row, Happened("user_changed", {"username": guest.username}), now)
    return await accounts.get(connection, row.id)


def _of_home(guest: Guest) -> dict[str, object]:
    return {
        "name": guest.name,
        "email": guest.email,
        "external": guest.external,
        "home_pod": guest.home_pod,
        "home_id": guest.home_id,
    }


def _known(row: UserRow | None) -> Known | None:
    return None if row is None else Known(row.id, row.home_pod, row.home_id)


async def _note(connection: AsyncConnection, caller: Caller, row: UserRow, happened: Happened, now: datetime) -> None:
    await record(connection, caller, Entity("user", row.id, row.username), happened, now)
