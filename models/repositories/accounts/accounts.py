"""People and their tokens."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, Final

from sqlalchemy import CTE, ColumnElement, and_, exists, func, insert, or_, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.errors import NotFound, Refused
from models.columns import table_of
from models.rows.accounts import UserRow
from models.tables.accounts import AccessToken, User
from models.typed_rows import all_of, first_of

user = table_of(User)
access_token = table_of(AccessToken)

ACTIVE: Final = "active"
BLOCKED: Final = "blocked"

OTHERS: Final = exists(select(user.c.id).where(~user.c.is_admin, ~user.c.bot))
"""Whether there are people who are no administrators, blocked ones included: one look into an index of them."""


async def create_user(
    connection: AsyncConnection,
    username: str,
    name: str,
    email: str,
    now: datetime,
    *,
    is_admin: bool = False,
    **values: Any,
) -> int:
    """Add a person. Raises `Refused` when the name is taken."""
    if (await connection.execute(select(user.c.id).where(user.c.username == username))).first():
        raise Refused("Username has already been taken")
    row = {"username": username, "name": name, "email": email, "is_admin": is_admin, "created_at": now, **values}
    statement = insert(user).values(**row)
    made: int = (await connection.execute(statement.returning(user.c.id))).scalar_one()
    return made


async def has_others(connection: AsyncConnection) -> bool:
    """Whether there are people who are no administrators."""
    return bool((await connection.execute(select(OTHERS))).scalar_one())


async def add_token(
    connection: AsyncConnection,
    user_id: int,
    name: str,
    token_hash: str,
    now: datetime,
    *,
    scopes: Sequence[str] = ("api",),
    **values: Any,
) -> int:
    """Keep the hash of a new access token."""
    statement = insert(access_token).values(
        user_id=user_id, name=name, token_hash=token_hash, created_at=now, scopes=list(scopes), **values
    )
    made: int = (await connection.execute(statement.returning(access_token.c.id))).scalar_one()
    return made


@dataclass(frozen=True, slots=True)
class TokenBearer(UserRow):
    """A person with what is known of the token that they have shown."""

    token_id: int
    scopes: Sequence[str]
    last_used_at: datetime | None
    maker_id: int | None


async def by_token(connection: AsyncConnection, token_hash: str) -> TokenBearer | None:
    """The person behind a token that is good, or None."""
    columns = (access_token.c.scopes, access_token.c.last_used_at, access_token.c.maker_id)
    statement = (
        select(user, access_token.c.id.label("token_id"), *columns)
        .join(access_token, access_token.c.user_id == user.c.id)
        .where(access_token.c.token_hash == token_hash, user.c.state == ACTIVE, is_good())
    )
    row = first_of(TokenBearer, await connection.execute(statement))
    return row if row is not None and await is_chain_good(connection, row.maker_id) else None


def chain_of(token_id: int) -> CTE:
    """A token and all that stand above it, which made it: their ids and makers."""
    columns = (access_token.c.id, access_token.c.maker_id)
    chain = select(*columns).where(access_token.c.id == token_id).cte("chain", recursive=True)
    return chain.union(select(*columns).where(access_token.c.id == chain.c.maker_id))


async def is_chain_good(connection: AsyncConnection, token_id: int | None) -> bool:
    """Whether a token and all above it are good, and nobody whose they are is blocked; true for None, which is none."""
    if token_id is None:
        return True
    chain = chain_of(token_id)
    statement = (
        select(chain.c.maker_id, and_(is_good(), user.c.state == ACTIVE).label("is_good"))
        .join(access_token, access_token.c.id == chain.c.id)
        .join(user, user.c.id == access_token.c.user_id)
    )
    rows = (await connection.execute(statement)).all()
    return all(row.is_good for row in rows) and any(row.maker_id is None for row in rows)


def is_good() -> ColumnElement[bool]:
    """Whether a token is neither revoked nor expired, by the database's day (UTC)."""
    lasting = or_(access_token.c.expires_on.is_(None), access_token.c.expires_on > func.current_date())
    return and_(access_token.c.revoked_at.is_(None), lasting)


async def note_use(connection: AsyncConnection, token_id: int, now: datetime) -> None:
    """Remember when a token was used last."""
    await connection.execute(update(access_token).where(access_token.c.id == token_id).values(last_used_at=now))


async def note_sign_in(connection: AsyncConnection, user_id: int, now: datetime) -> None:
    """Remember that somebody signed in; the sign-in before becomes the last one, as in GitLab."""
    before = func.coalesce(user.c.current_sign_in_at, now)
    statement = update(user).where(user.c.id == user_id)
    await connection.execute(statement.values(last_sign_in_at=before, current_sign_in_at=now))


async def note_activity(connection: AsyncConnection, user_id: int, today: date) -> None:
    """Remember the day on which somebody called; of two processes that see it first one writes."""
    known = or_(user.c.last_activity_on.is_(None), user.c.last_activity_on < today)
    await connection.execute(update(user).where(user.c.id == user_id, known).values(last_activity_on=today))


async def get(connection: AsyncConnection, user_id: int) -> UserRow:
    """A person. Raises `NotFound`."""
    row = first_of(UserRow, await connection.execute(select(user).where(user.c.id == user_id)))
    if row is None:
        raise NotFound("User Not Found")
    return row


async def by_ids(connection: AsyncConnection, ids: Iterable[int]) -> Sequence[UserRow]:
    """People by id."""
    return all_of(UserRow, await connection.execute(select(user).where(user.c.id.in_(list(ids)))))


async def change(connection: AsyncConnection, user_id: int, **values: Any) -> None:
    """Write columns of a person."""
    if values:
        await connection.execute(update(user).where(user.c.id == user_id).values(**values))


async def renew_hash(connection: AsyncConnection, user_id: int, before: str, after: str) -> None:
    """Replace the hash of a password that has not been changed meanwhile."""
    rule = (user.c.id == user_id) & (user.c.password_hash == before)
    await connection.execute(update(user).where(rule).values(password_hash=after))


async def by_email(connection: AsyncConnection, email: str) -> Sequence[UserRow]:
    """The people, not the robots, that have this e-mail address, in any case."""
    rule = (func.lower(user.c.email) == email.lower()) & ~user.c.bot
    return all_of(UserRow, await connection.execute(select(user).where(rule).order_by(user.c.id)))


async def by_login(connection: AsyncConnection, login: str) -> UserRow | None:
    """The active person who is at home here, with this user name, or an e-mail address that nobody shares; or None."""
    row = await by_username(connection, login)
    if row is None and "@" in login:
        found = [one for one in await by_email(connection, login) if one.home_pod is None]
        row = found[0] if len(found) == 1 else None
    is_theirs = row is not None and row.state == ACTIVE and not row.bot and row.home_pod is None
    return row if is_theirs else None


async def by_username(connection: AsyncConnection, username: str) -> UserRow | None:
    """A person by name, or None."""
    return first_of(UserRow, await connection.execute(select(user).where(user.c.username == username)))
