"""What robots had beside the tokens of their projects and groups: migration 0048 closed it, and wrote down how much."""

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncConnection

from models.repositories.installation.audit import event

CLOSED = "robot_credentials_closed"


async def closed(connection: AsyncConnection) -> tuple[int, int]:
    """How many tokens and how many SSH keys, as long as audit events are kept."""
    rows = (await connection.execute(select(event.c.details).where(event.c.event == CLOSED))).scalars().all()
    return sum(row["tokens"] for row in rows), sum(row["ssh_keys"] for row in rows)
