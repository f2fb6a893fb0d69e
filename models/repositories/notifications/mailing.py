"""Whether the workers of the installation send e-mails, as of their last start: projects are watched because of it."""

from sqlalchemy import select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from models.columns import table_of
from models.repositories.hooks import hooks
from models.repositories.owner import Owner
from models.tables.installation import Installation

installation = table_of(Installation)


async def are_sent(connection: AsyncConnection) -> bool:
    """Whether people get e-mails."""
    return bool((await connection.execute(select(installation.c.mails))).scalar())


async def note(connection: AsyncConnection, *, are_sent: bool) -> bool:
    """Write whether people get e-mails from now on, and watch every project or none; whether that is written.

    It is not before the first start of the installation has made its row.
    """
    if (await connection.execute(select(installation.c.mails))).scalar() is are_sent:
        return True
    differs = update(installation).where(installation.c.mails != are_sent).values(mails=are_sent)
    if not (await connection.execute(differs)).rowcount:
        return False
    await hooks.watch(connection, Owner())
    return True
