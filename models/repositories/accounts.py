"""People and their tokens."""

from datetime import datetime

from sqlalchemy import insert, select
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.errors import Invalid, NotFound
from models.columns import Record, table_of
from models.tables import AccessToken, User

user = table_of(User)
access_token = table_of(AccessToken)


async def create_user(
    connection: AsyncConnection, username: str, name: str, email: str, now: datetime, *, is_admin: bool = False
) -> int:
    """Add a person. Raises `Invalid` when the name is taken."""
    if (await connection.execute(select(user.c.id).where(user.c.username == username))).first():
        raise Invalid(f"Username {username} has already been taken.")
    statement = insert(user).values(username=username, name=name, email=email, is_admin=is_admin, created_at=now)
    made: int = (await connection.execute(statement.returning(user.c.id))).scalar_one()
    return made


async def add_token(connection: AsyncConnection, user_id: int, name: str, token_hash: str, now: datetime) -> int:
    """Keep the hash of a new personal access token."""
    statement = insert(access_token).values(user_id=user_id, name=name, token_hash=token_hash, created_at=now)
    made: int = (await connection.execute(statement.returning(access_token.c.id))).scalar_one()
    return made


async def by_token(connection: AsyncConnection, token_hash: str) -> Record | None:
    """The person behind a token, or None."""
    statement = (
        select(user)
        .join(access_token, access_token.c.user_id == user.c.id)
        .where(access_token.c.token_hash == token_hash, access_token.c.revoked_at.is_(None))
    )
    return (await connection.execute(statement)).first()


async def get(connection: AsyncConnection, user_id: int) -> Record:
    """A person. Raises `NotFound`."""
    row = (await connection.execute(select(user).where(user.c.id == user_id))).first()
    if row is None:
        raise NotFound("404 User Not Found")
    return row


async def by_username(connection: AsyncConnection, username: str) -> Record | None:
    """A person by name, or None."""
    return (await connection.execute(select(user).where(user.c.username == username))).first()
