"""What a test knows of the claims of a directory, and a reader that follows it."""

from dataclasses import dataclass
from uuid import UUID

from domain.pods.claims import ClaimKind
from domain.pods.directory import Directory
from domain.pods.directory_changes import applied
from pods.directory_client import DirectoryClient


@dataclass
class Known:
    """A claim as the dict has it."""

    kind: ClaimKind
    name: str
    pod: int
    state: str = "tentative"
    organisation: int | None = None
    was_moved: bool = False
    released_at: int = 0

    def lives_in(self, pod: int) -> None:
        """Its organisation is there now."""
        self.pod = pod
        self.was_moved |= self.organisation is not None and self.organisation >> 40 != pod

    def is_forgotten(self, until: int) -> bool:
        """Whether it goes when releases up to this unix second do."""
        return self.state == "released" and self.released_at <= until and not self.was_moved


class Claims(dict[UUID, Known]):
    """All of them by their ids."""

    def holder(self, kind: ClaimKind, name: str) -> UUID | None:
        """Who has a name in the dict."""
        for claim_id, known in self.items():
            if known.state != "released" and (known.kind, known.name.lower()) == (kind, name.lower()):
                return claim_id
        return None

    def homes(self, organisation: int | None) -> set[int]:
        """Where an organisation is, by the dict."""
        if organisation is None:
            return set()
        found = [known for known in self.values() if known.organisation == organisation]
        return {known.pod for known in found if known.state == "confirmed"}


@dataclass
class Reader:
    """What follows by changes alone."""

    copy: Directory | None = None
    epoch: str = ""
    version: int = 0

    async def read(self, client: DirectoryClient) -> None:
        """Be told what is new."""
        changes = await client.changes(self.epoch, self.version)
        assert changes.version >= self.version
        assert changes.is_complete or changes.epoch == self.epoch
        self.copy = applied(self.copy, changes)
        self.epoch, self.version = changes.epoch, changes.version
        assert self.copy == applied(None, await client.changes())
