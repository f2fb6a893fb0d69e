"""Writing audit events: who did what, in the transaction that does it."""

from datetime import datetime

from sqlalchemy.ext.asyncio import AsyncConnection

from auth.permissions import Caller
from models.repositories.installation import audit
from models.repositories.installation.audit import Author, Entity, Happened


async def record(
    connection: AsyncConnection, caller: Caller, entity: Entity, happened: Happened, now: datetime
) -> None:
    """Write down what the caller did."""
    await audit.add(connection, Author(caller.user_id, caller.username, caller.address), entity, happened, now)
