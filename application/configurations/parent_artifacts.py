"""Files of a child pipeline's configuration that a job of the parent pipeline has made (`include:artifact`).

Only the list of the archive and the wanted file are read from the store, never the whole archive. Source:
docs/reference/ci-yaml.md, "Includes"; docs/reference/pipelines.md, "Downstream pipelines".
"""

from dataclasses import dataclass

from application.services import Services
from domain.config.sources import Absent, Answer, ArtifactFile, Fetched
from domain.errors import Invalid, NotFound, TooLarge
from models.repositories.artifacts.foreign_archives import of_latest_attempt
from storage.archive import Archive


@dataclass(frozen=True, slots=True)
class ParentArtifacts:
    """The archives of one pipeline's jobs."""

    services: Services
    pipeline_id: int

    async def answer(self, request: ArtifactFile, limit: int) -> Answer:
        """The text of a file from the archive of a job's latest attempt; at most `limit` bytes are read.

        Raises `Unavailable` while the store is away.
        """
        async with self.services.database.read() as connection:
            row = await of_latest_attempt(connection, self.pipeline_id, request.job)
        if row is None:
            return Absent()
        place = f"the artifacts of job `{request.job}`"
        try:
            archive = await Archive.open(self.services.store, row.object_key)
        except NotFound:
            return Absent(f"Job `{request.job}`: its artifacts are not in the store any more; run it again.")
        except (Invalid, TooLarge) as error:
            return Absent(f"Path `{request.path}` cannot be read from {place}: {error}")
        try:
            return await _text(archive, request.path, limit)
        except NotFound:
            return Absent(f"Path `{request.path}` does not exist inside {place}!")
        except (Invalid, TooLarge) as error:
            return Absent(f"Path `{request.path}` cannot be read from {place}: {error}")


async def _text(archive: Archive, path: str, limit: int) -> Answer:
    entry = archive.entry(path)
    if entry.size > limit:
        raise TooLarge(f"it has {entry.size:,} bytes; at most {limit:,} are read here.")
    content = b"".join([chunk async for chunk in archive.read(path)])
    try:
        return Fetched(content.decode())
    except UnicodeDecodeError as error:
        raise Invalid(f"it is not UTF-8 text (byte {error.start}).") from error
