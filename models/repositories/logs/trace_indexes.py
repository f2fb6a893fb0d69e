"""What is stored of the indexes of logs that are in the database."""

from typing import Final

from sqlalchemy import BigInteger, LargeBinary, bindparam, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncConnection

from models.columns import table_of
from models.tables.logs import Trace, TraceIndex

index = table_of(TraceIndex)
trace = table_of(Trace)

_PARTS: Final = (
    select(index.c.start, index.c.stop, index.c.content)
    .where(index.c.job_id == bindparam("b_job"), index.c.generation == bindparam("b_generation"))
    .order_by(index.c.start)
)
_NAMES: Final = ("job_id", "generation", "start", "stop", "content")
_VALUES: Final = (
    trace.c.job_id,
    bindparam("b_generation", type_=trace.c.generation.type),
    bindparam("b_start", type_=BigInteger),
    bindparam("b_stop", type_=BigInteger),
    bindparam("b_content", type_=LargeBinary),
)
_OF_LOG: Final = select(*_VALUES).where(trace.c.job_id == bindparam("b_job"), ~trace.c.copied)
"""Nothing is kept of a log that is gone, or that is in the store."""
_ADD: Final = {
    "postgresql": postgresql.insert(index).from_select(_NAMES, _OF_LOG).on_conflict_do_nothing(),
    "sqlite": sqlite.insert(index).from_select(_NAMES, _OF_LOG).on_conflict_do_nothing(),
}


async def parts(connection: AsyncConnection, job_id: int, generation: int) -> list[bytes]:
    """The parts that follow each other from byte 0 on; what another process began elsewhere is left out."""
    found, place = [], 0
    for start, stop, content in await connection.execute(_PARTS, {"b_job": job_id, "b_generation": generation}):
        if start == place:
            found.append(bytes(content))
            place = stop
    return found


async def add(connection: AsyncConnection, job_id: int, generation: int, start: int, stop: int, content: bytes) -> bool:
    """Keep a part; false when another process has kept one that begins there, or the log is not in the database."""
    place = {"b_job": job_id, "b_generation": generation, "b_start": start, "b_stop": stop}
    return bool((await connection.execute(_ADD[connection.dialect.name], {**place, "b_content": content})).rowcount)
