"""Chunks of logs that come together are written together: one look, one statement, one commit for all of them."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from api.runner.batching import AskedTogether
from application.jobs.job_access import named, require_running
from auth.job_token import JobClaims
from domain.errors import OutOfOrder, PerdureError, Unavailable
from models.repositories.logs import trace_chunks
from models.repositories.queue import held_jobs
from models.repositories.queue.held_jobs import HeldJob
from models.session import Database

_MAX_CONCURRENT: Final = 16
"""So many chunks are one statement at most: it holds all their bytes."""
_MAX_ATTEMPTS: Final = 5


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Chunk:
    """Bytes of a log, from byte `start` on, and who sends them."""

    claims: JobClaims
    start: int
    content: bytes

    def behind(self, row: HeldJob | None) -> HeldJob:
        """The job as it was looked at, if this chunk follows its log.

        Raises `Forbidden`, `JobNotRunning`, `OutOfOrder`.
        """
        row = named(row, self.claims)
        require_running(row)
        if row.size != self.start:
            words = f"The log of job {row.id} has {row.size} bytes; a chunk came for offset {self.start}."
            raise OutOfOrder(words, row.size, row.status)
        return row


_Answer: TypeAlias = HeldJob | PerdureError


class TraceWriter:
    """Writes what runners send, as it comes."""

    def __init__(self, database: Database) -> None:
        """Write to this database."""
        self._database = database
        self._chunks: AskedTogether[Chunk, _Answer] = AskedTogether(self._write, _MAX_CONCURRENT)

    async def append(self, chunk: Chunk) -> HeldJob:
        """Add a chunk, of one byte at least, and commit; the job as it was before. Raises as `Chunk.behind` does."""
        for _ in range(_MAX_ATTEMPTS):
            answer = await self._chunks.ask(chunk)
            if isinstance(answer, PerdureError):
                raise answer
            if answer is not None:
                return answer
        raise Unavailable("The log is being written by others; try again.")

    async def _write(self, chunks: Collection[Chunk]) -> Mapping[Chunk, _Answer]:
        """One chunk of each log. Those that something else came before have no answer: they look again."""
        async with self._database.write_once() as connection:
            rows = await held_jobs.look_at(connection, {chunk.claims.job_id for chunk in chunks})
            answers = {chunk: _looked_at(chunk, rows.get(chunk.claims.job_id)) for chunk in chunks}
            fitting = {chunk.claims.job_id: chunk for chunk in chunks if not isinstance(answers[chunk], PerdureError)}
            contents = [(rows[job_id], chunk.content) for job_id, chunk in fitting.items()]
            written = await trace_chunks.append(connection, contents)
        kept = {fitting[job_id] for job_id in written}
        return {chunk: answer for chunk, answer in answers.items() if isinstance(answer, PerdureError) or chunk in kept}


def _looked_at(chunk: Chunk, row: HeldJob | None) -> _Answer:
    try:
        return chunk.behind(row)
    except PerdureError as error:
        return error
