"""Chains of tokens: what a token has made is found, follows its successor, and ends with it (`domain.token_chains`)."""

from datetime import UTC, date, datetime, time

from sqlalchemy import CTE, ColumnElement, delete, exists, func, or_, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.token_chains import Maker
from models.repositories.accounts.accounts import ACTIVE, BLOCKED, access_token, chain_of, is_chain_good, is_good, user
from models.repositories.accounts.members import member
from models.repositories.accounts.ssh_keys import ssh_key
from models.repositories.namespaces.deploy_tokens import deploy_token
from models.repositories.namespaces.namespaces import namespace_member
from models.repositories.projects.triggers import trigger

_MADE = (ssh_key, deploy_token, trigger)
"""What tokens make that makes nothing."""


async def lock(connection: AsyncConnection, token_id: int) -> bool:
    """Whether a token is good, which it stays until the transaction ends: whoever ends it waits for this."""
    statement = select(access_token.c.id).where(access_token.c.id == token_id, is_good()).with_for_update()
    is_there = (await connection.execute(statement)).first() is not None
    return is_there and await is_chain_good(connection, token_id)


async def maker(connection: AsyncConnection, token_id: int) -> Maker:
    """A token as what makes others."""
    columns = (access_token.c.expires_on, access_token.c.impersonation, user.c.bot)
    of_person = access_token.join(user, user.c.id == access_token.c.user_id)
    statement = select(*columns).select_from(of_person).where(access_token.c.id == token_id)
    row = (await connection.execute(statement)).one()
    above = len(await chain(connection, token_id)) - 1
    return Maker(token_id, row.expires_on, is_of_robot=row.bot, is_impersonation=row.impersonation, above=above)


async def chain(connection: AsyncConnection, token_id: int | None) -> frozenset[int]:
    """The ids of a token and of those above it."""
    if token_id is None:
        return frozenset()
    return frozenset((await connection.execute(select(chain_of(token_id).c.id))).scalars())


def _below(token_id: int) -> CTE:
    """A token, what it has made, what that has made, and so on."""
    found = select(access_token.c.id).where(access_token.c.id == token_id).cte("below", recursive=True)
    return found.union(select(access_token.c.id).where(access_token.c.maker_id == found.c.id))


async def end(connection: AsyncConnection, token_id: int, now: datetime) -> int:
    """Revoke a token with all that it has made, directly or not; how many tokens those were beside itself.

    Robots that have no good token now end. Whoever makes something by one of them meanwhile holds a lock on it, and so
    is waited for: then there is more to end, and this looks again.
    """
    below = select(_below(token_id).c.id)
    rule = access_token.c.id.in_(below) & access_token.c.revoked_at.is_(None)
    revoking = update(access_token).where(rule).values(revoked_at=now).returning(access_token.c.id)
    count = 0
    while found := (await connection.execute(revoking)).all():
        count += len(found)
    of_them = deploy_token.c.maker_id.in_(below) & deploy_token.c.revoked_at.is_(None)
    await connection.execute(update(deploy_token).where(of_them).values(revoked_at=now, sealed=""))
    for table in (trigger, ssh_key):
        await connection.execute(delete(table).where(table.c.maker_id.in_(below)))
    owners = select(access_token.c.user_id).where(access_token.c.id.in_(below))
    await end_robots(connection, user.c.id.in_(owners))
    return max(count - 1, 0)


async def end_robots(connection: AsyncConnection, *which: ColumnElement[bool]) -> int:
    """Block the robots that have no good token, and end what they are members of; how many."""
    has_token = exists().where(access_token.c.user_id == user.c.id, is_good())
    statement = update(user).where(user.c.bot, user.c.state == ACTIVE, ~has_token, *which).values(state=BLOCKED)
    ids = list((await connection.execute(statement.returning(user.c.id))).scalars())
    for table in (member, namespace_member):
        await connection.execute(delete(table).where(table.c.user_id.in_(ids)))
    return len(ids)


async def hand_over(connection: AsyncConnection, token_id: int, successor_id: int, ends_on: date | None) -> None:
    """Give what a token has made to its successor; what would end later ends on the same day."""
    await connection.execute(update(access_token).where(access_token.c.id == token_id).values(rotated_to=successor_id))
    for table in (access_token, *_MADE):
        await connection.execute(update(table).where(table.c.maker_id == token_id).values(maker_id=successor_id))
    if ends_on is None:
        return
    below = select(_below(successor_id).c.id)
    later = or_(access_token.c.expires_on.is_(None), access_token.c.expires_on > ends_on)
    await connection.execute(update(access_token).where(access_token.c.id.in_(below), later).values(expires_on=ends_on))
    moment = datetime.combine(ends_on, time(), UTC)
    for table in _MADE:
        too_late = or_(table.c.expires_at.is_(None), table.c.expires_at > moment)
        await connection.execute(update(table).where(table.c.maker_id.in_(below), too_late).values(expires_at=moment))


async def last_of_family(connection: AsyncConnection, token_hash: str) -> int | None:
    """The id of the token that a rotated one has become by now; None for what was not rotated."""
    columns = (access_token.c.id, access_token.c.rotated_to)
    family = select(*columns).where(access_token.c.token_hash == token_hash).cte("family", recursive=True)
    family = family.union(select(*columns).where(access_token.c.id == family.c.rotated_to))
    found = (await connection.execute(select(func.count(), func.max(family.c.id)).select_from(family))).one()
    return found[1] if found[0] > 1 else None
