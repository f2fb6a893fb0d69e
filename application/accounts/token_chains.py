"""Who makes, rotates and ends tokens, so that none outlives what made it (`domain.token_chains`).

Whoever keeps a new credential asks `maker_of` in the transaction in which it does so.
"""

from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Final

from sqlalchemy.ext.asyncio import AsyncConnection

from application.audit import record
from application.services import Services
from auth.permissions import Caller
from domain.errors import Forbidden, Invalid, Unauthenticated
from domain.token_chains import TOKEN_ELSEWHERE, Maker
from models.repositories.accounts import access_tokens, accounts, members, token_chains
from models.repositories.accounts.access_tokens import ListedToken
from models.repositories.installation.audit import Entity, Happened
from models.rows.accounts import UserRow

ROTATED_FOR: Final = timedelta(days=7)
"""How long the successor of a rotated token is good if nobody says; as in GitLab."""


async def maker_of(connection: AsyncConnection, caller: Caller) -> Maker:
    """What makes a credential for this caller; until the transaction ends it is good.

    Raises `Forbidden` for what makes none, `Unauthenticated` for a token that is not good any more.
    """
    if caller.job_id:
        raise Forbidden("Forbidden: a job makes no tokens and keys.")
    if caller.token_id == TOKEN_ELSEWHERE:
        raise Forbidden("Forbidden: sign in at home with your password to make tokens here; you did so with a token.")
    if not caller.token_id:
        return Maker()
    if not await token_chains.lock(connection, caller.token_id):
        raise Unauthenticated("Unauthorized")
    found = await token_chains.maker(connection, caller.token_id)
    found.require_may_make()
    return found


def require_person(row: UserRow) -> None:
    """Raise `Forbidden` for a robot, which has the one token that it was made with."""
    if row.bot:
        raise Forbidden("Forbidden: a robot has the token of its project or group, and no further tokens and keys.")


async def revoke(connection: AsyncConnection, caller: Caller, row: ListedToken, entity: Entity, now: datetime) -> None:
    """Revoke a token with all that it has made, and write an audit event of it."""
    ended = await token_chains.end(connection, row.id, now)
    facts = {"name": row.name} | ({"tokens_it_made": ended} if ended else {})
    await record(connection, caller, entity, Happened("token_revoked", facts), now)


async def end_reused(services: Services, token_hash: str, address: str) -> None:
    """Revoke what a token has become that was rotated and is rotated again: two hold it.

    Source: GitLab: "Personal access tokens API", "Automatic reuse detection".
    """
    async with services.database.write() as connection:
        last = await token_chains.last_of_family(connection, token_hash)
        row = None if last is None else await access_tokens.by_id(connection, last)
        if row is not None and row.revoked_at is None:
            person = await accounts.get(connection, row.user_id)
            caller = Caller(person.id, person.username, address=address)
            await revoke(connection, caller, row, Entity("user", person.id, person.username), services.clock())


@dataclass(frozen=True, slots=True)
class Successor:
    """What replaces a token: the hash of the new one, and the day on which it is wanted to end."""

    token_hash: str
    wanted: date | None


async def rotate(
    connection: AsyncConnection, caller: Caller, row: ListedToken, successor: Successor, now: datetime
) -> int:
    """Put a successor in the place of a token, with all that it has made; its id.

    Raises `Invalid` for a token that is not good, or an end that is too late, `Forbidden` for who may not.
    """
    if not await token_chains.lock(connection, row.id):
        raise Invalid("Bad request: token already revoked, or it has expired")
    maker = await _maker_of_successor(connection, caller, row)
    ends = maker.last_day(successor.wanted)
    if successor.wanted is None:
        week = now.date() + ROTATED_FOR
        ends = week if ends is None else min(ends, week)
    values = {"expires_on": ends, "names_pod": True, "maker_id": maker.id}
    key = await access_tokens.replace(connection, row, successor.token_hash, now, **values)
    await token_chains.hand_over(connection, row.id, key, ends)
    if row.project_id is not None:
        await members.change_in_project(connection, row.project_id, row.user_id, expires_on=ends)
    if row.namespace_id is not None:
        await members.change_in_group(connection, row.namespace_id, row.user_id, expires_on=ends)
    facts = Happened("token_rotated", {"name": row.name})
    await record(connection, caller, Entity("user", row.user_id, ""), facts, now)
    return key


async def _maker_of_successor(connection: AsyncConnection, caller: Caller, row: ListedToken) -> Maker:
    """A token that replaces itself stays below what made it; one that another token replaces is made by that one."""
    above = await token_chains.chain(connection, row.maker_id)
    if caller.token_id not in {0, row.id, *above}:
        maker = await maker_of(connection, caller)
        if row.id in await token_chains.chain(connection, caller.token_id):
            raise Forbidden("Forbidden: a token does not rotate the one that made it.")
        return maker
    return Maker() if row.maker_id is None else await token_chains.maker(connection, row.maker_id)
