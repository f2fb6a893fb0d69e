"""What PostgreSQL itself can do: a loop that claims rows by SKIP LOCKED and does nothing else."""

import asyncio
import time
from typing import Final

import asyncpg

_TABLE: Final = "CREATE TABLE bare (id bigint PRIMARY KEY, taken boolean NOT NULL DEFAULT false)"
_FILL: Final = "INSERT INTO bare SELECT generate_series(1, $1::bigint)"
_INDEX: Final = "CREATE INDEX bare_waiting ON bare (id) WHERE NOT taken"
_CLAIM: Final = """
    UPDATE bare SET taken = true
    WHERE id = (SELECT id FROM bare WHERE NOT taken ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED)
    RETURNING id
"""


async def claims_per_second(url: str, clients: int, rows: int) -> float:
    """So many clients take so many rows, one after the other; `url` is the SQLAlchemy address of the database."""
    connections = [await asyncpg.connect(url.replace("+asyncpg", "")) for _ in range(clients)]
    try:
        await connections[0].execute(_TABLE)
        await connections[0].execute(_FILL, rows)
        await connections[0].execute(_INDEX)
        begin = time.perf_counter()
        await asyncio.gather(*(_claim_all(connection) for connection in connections))
        return rows / (time.perf_counter() - begin)
    finally:
        for connection in connections:
            await connection.close()


async def _claim_all(connection: asyncpg.Connection) -> None:
    while await connection.fetchval(_CLAIM) is not None:
        pass
