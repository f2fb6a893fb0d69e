"""Reading the log of a job: wherever its bytes are, and never a secret. All who show logs read them here.

Bytes are in the database, or were moved to the store meanwhile. Secrets are masked byte by byte, so that offsets mean
the same to the runner, to the store and to every reader (docs/reference/runner-protocol.md, "Log upload";
docs/reference/reliability.md, "Masked values").
"""

from collections.abc import AsyncGenerator, AsyncIterator, Iterable
from contextlib import aclosing
from dataclasses import dataclass, field
from functools import partial

from api.services import Services
from api.v4.jobs.log_reads import PART, Part
from application.pipelines.ci_variables import opened
from domain.logs.index import Part as Index
from domain.masking import MaskedRange, Secrets, forms
from domain.object_keys import trace_key
from models.repositories.logs import traces
from models.repositories.projects import ci_variables
from models.rows.pipelines import JobFacts


@dataclass(frozen=True, slots=True)
class Log:
    """A log as it was at one moment: `size` bytes of one `generation`; `frozen` when nothing can follow."""

    project_id: int
    job_id: int
    generation: int
    size: int
    frozen: bool
    copied: bool
    secrets: Secrets = field(repr=False)


async def masked_values(services: Services, job: JobFacts) -> Iterable[str]:
    """The values that must not be read in the log of a job, of those that are not known by their prefix.

    They are those of masked variables as they are now; what they were when the job ran, its runner has masked.
    """
    async with services.database.read() as connection:
        rows = await ci_variables.reaching(connection, job.project_id)
    return [variable.value for variable in opened(services.sealer, [item for item in rows if item[1].masked])]


async def log_of(services: Services, job: JobFacts) -> Log:
    """The log of a job; an empty one before any runner has written. Its runner learns that somebody reads."""
    reads = services.log_reads
    head = await reads.head(job.id)
    if not head.frozen and head.watched != head.ticks:
        await reads.note_look(job.id)
        if not traces.is_watched(head):
            head = await reads.head(job.id)  # a chunk that came before told nobody
    values = await masked_values(services, job)
    secrets = Secrets(form for value in values for form in forms(value))
    return Log(job.project_id, job.id, head.generation, head.size, head.frozen, head.copied, secrets)


async def readable(services: Services, log: Log) -> int:
    """How many bytes can be shown: not all while the log grows and its end may be the beginning of a secret."""
    if log.frozen or not log.size:
        return log.size
    start = max(0, log.size - log.secrets.reach)
    end = await services.log_reads.part(Part(log.job_id, log.generation, start, log.size - start))
    return start + log.secrets.open_end(end)


async def read_log(services: Services, log: Log, start: int = 0, end: int | None = None) -> AsyncIterator[bytes]:
    """The masked bytes from `start` up to, without, `end` (None: all) that can be shown.

    Ends early when the runner begins to send the log again: those bytes belong to nobody then.
    """
    end = log.size if end is None else min(end, log.size)
    if start >= end:
        return
    masked = MaskedRange(log.secrets, start, end, log.size, grows=not log.frozen)
    async with aclosing(stored_bytes(services, log, masked.begin, masked.stop)) as parts:
        async for part in parts:
            if shown := masked.feed(part):
                yield shown


async def stored_bytes(services: Services, log: Log, start: int, end: int) -> AsyncGenerator[bytes, None]:
    """The bytes as the runner sent them."""
    position = start
    while position < end and not log.copied:
        wanted = Part(log.job_id, log.generation, position, min(PART, end - position))
        part = await services.log_reads.part(wanted)
        if not part:
            head = await services.log_reads.head(log.job_id)
            if not head.copied or head.generation != log.generation:
                return
            break
        position += len(part)
        yield part
    if position < end:
        async for part in services.store.read(trace_key(log.project_id, log.job_id, log.generation), position, end):
            yield part


async def index_of(services: Services, log: Log) -> Index:
    """Its index, as far as it can be made now."""
    return await services.log_indexes.of(log, partial(stored_bytes, services, log))


async def note_growth(services: Services, job_id: int) -> None:
    """Read what a growing log has got, though nobody looks at it: whoever opens it then need not wait."""
    head = await services.log_reads.head(job_id)
    log = Log(0, job_id, head.generation, head.size, head.frozen, head.copied, Secrets())
    if not log.copied:
        await index_of(services, log)
