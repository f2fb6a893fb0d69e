"""The runners that ask for jobs, as this process knows them: a poll costs no query, nor does one with a bad token.

What is known is forgotten when a process tells of a change, and read anew by the look at the queue that each process
takes every `queue_rescan` seconds. So a runner that was removed, changed or given another token is refused at once;
if the notification is lost, or the process that made the change is killed before it can tell, after `queue_rescan`
seconds (10). Meanwhile it is held, and gets no job: a claim looks at the runner's row and token itself.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import Final

from api.runner.batching import AskedTogether
from models.notifications import RUNNERS, Notifications
from models.repositories.queue import candidates
from models.repositories.queue.candidates import KnownRunner
from models.repositories.runners import runners
from models.session import Database

_MAX_KNOWN: Final = 20_000
"""Tokens of which something is known, bad ones included."""


class KnownRunners:
    """Runners by the hash of the token that they show."""

    def __init__(self, database: Database, notifications: Notifications) -> None:
        """Know nobody."""
        self._database = database
        self._notifications = notifications
        self._known: dict[str, KnownRunner | None] = {}
        self._used: set[str] = set()
        self._forgotten = 0
        self._reading = AskedTogether(self._read)

    async def by_hash(self, token_hash: str) -> KnownRunner | None:
        """The runner; None for a token that is no runner's."""
        if token_hash not in self._known:
            found = await self._reading.ask(token_hash)
            if found is not None and token_hash == found.row.token_hash and found.row.previous_token_hash is not None:
                await self._retire_previous(found)
            return found
        self._used.add(token_hash)
        return self._known[token_hash]

    def forget(self) -> None:
        """Something has changed, or may have."""
        self._forgotten += 1
        self._known = {}
        self._used.clear()

    async def refresh(self, waiting: Iterable[str]) -> dict[str, KnownRunner]:
        """Read those that wait, and those that asked since the last time, in one statement; forget all others."""
        used, known = self._used.union(waiting), self._known
        self.forget()
        return await self._read(used, known) if used else {}

    async def _read(
        self, hashes: Collection[str], known: Mapping[str, KnownRunner | None] | None = None
    ) -> dict[str, KnownRunner]:
        """Read these; `known` is what was known of them when nothing had been forgotten."""
        before = self._forgotten
        async with self._database.read() as connection:
            found = await candidates.by_tokens(connection, hashes, known or {})
        if before == self._forgotten:  # else something was changed since, or just before
            if len(self._known) + len(hashes) > _MAX_KNOWN:
                self._known.clear()
            self._known.update((token_hash, found.get(token_hash)) for token_hash in hashes)
            self._used.update(found)
        return found

    async def _retire_previous(self, found: KnownRunner) -> None:
        """The new token is used: the one before it is worth nothing any more."""
        async with self._database.write() as connection:
            await runners.retire_previous_token(connection, found.row.id, found.token_hash)
        await self._notifications.tell(RUNNERS)
