"""Whether a browser's session is still good, and how it ends."""

from datetime import datetime

from sqlalchemy import delete, exists, insert, select, true, update
from sqlalchemy.ext.asyncio import AsyncConnection

from models.columns import table_of
from models.repositories.accounts.accounts import ACTIVE, access_token, is_chain_good, user
from models.rows.accounts import UserRow
from models.tables.sessions import EndedSession
from models.typed_rows import first_of

ended = table_of(EndedSession)


async def person_of(
    connection: AsyncConnection, user_id: int, epoch: int | None, session_id: str, token_id: int
) -> UserRow | None:
    """The person of a session that is good; None where it was signed out, all were ended, or its token is worthless.

    `token_id` is that of the access token that the person signed in with, 0 for none, and less for one of another pod.
    Without an `epoch` there is no session, but the token alone.
    """
    rules = [
        user.c.id == user_id,
        user.c.state == ACTIVE,
        true() if epoch is None else user.c.session_epoch == epoch,
        ~exists().where(ended.c.session_id == session_id),
    ]
    if token_id > 0:
        rules.append(exists().where(access_token.c.id == token_id, access_token.c.user_id == user.c.id))
        if not await is_chain_good(connection, token_id):
            return None
    return first_of(UserRow, await connection.execute(select(user).where(*rules)))


async def end(connection: AsyncConnection, session_id: str, expires_at: datetime, now: datetime) -> None:
    """End one session; those that have ended by themselves are forgotten."""
    await connection.execute(delete(ended).where(ended.c.expires_at < now))
    if (await connection.execute(select(ended).where(ended.c.session_id == session_id))).first() is None:
        await connection.execute(insert(ended).values(session_id=session_id, expires_at=expires_at))


async def end_all(connection: AsyncConnection, user_id: int) -> None:
    """End every session of a person."""
    await connection.execute(update(user).where(user.c.id == user_id).values(session_epoch=user.c.session_epoch + 1))
