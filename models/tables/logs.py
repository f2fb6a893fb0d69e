"""Logs of jobs."""

from typing import Final

from sqlalchemy import Index, LargeBinary
from sqlmodel import Field, SQLModel

from models.columns import BIG, number, only, reference

TO_STORE: Final = "NOT trace.stored"
"""Of few logs: a statement that says it in these words reads them by an index of their own."""


class Trace(SQLModel, table=True):
    """The log of a job. `crc` is the CRC-32 of all `size` bytes.

    A log that is sent again is a new `generation`; `earlier_size` and `earlier_crc` are those of the one before it.
    `copied` is true once the store holds all of it and readers go there, `stored` once its chunks are gone too.
    `watched` is the tick of the lease clock at which somebody last read it while it grew.
    """

    __table_args__ = (Index("trace_to_store", "job_id", **only(TO_STORE)),)

    job_id: int = reference("job.id", primary_key=True)
    generation: int = 0
    size: int = number()
    crc: int = number()
    earlier_size: int = number()
    earlier_crc: int = number()
    frozen: bool = False
    resent: bool = False
    copied: bool = False
    stored: bool = False
    watched: int | None = Field(default=None, nullable=True, sa_type=BIG)


class TraceChunk(SQLModel, table=True):
    """Bytes of a log, until the whole log is an object in the store."""

    __tablename__ = "trace_chunk"

    job_id: int = reference("job.id", primary_key=True)
    generation: int = Field(primary_key=True)
    start: int = Field(primary_key=True, sa_type=BIG)
    content: bytes = Field(sa_type=LargeBinary)


class TraceIndex(SQLModel, table=True):
    """A part of the index of a log (`domain.logs.packing`), for its bytes `start` up to, without, `stop`.

    It goes with the chunks; the store has the whole index then. Parts follow each other from byte 0.
    """

    __tablename__ = "trace_index"

    job_id: int = reference("job.id", primary_key=True)
    generation: int = Field(primary_key=True)
    start: int = Field(primary_key=True, sa_type=BIG)
    stop: int = number()
    content: bytes = Field(sa_type=LargeBinary)
