"""A commit as the rest of Perdure sees it, read from git's output."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from typing import Final

COMMIT_FORMAT: Final = "%x00".join(("%H", "%P", "%an", "%ae", "%ad", "%cn", "%ce", "%cd", "%B"))
"""Format of `git log --date=raw` that `parse_commit` reads."""


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit. `title` is the first line of `message`; the times carry the zone of who wrote them."""

    sha: str
    parents: tuple[str, ...]
    title: str
    message: str
    author_name: str
    author_email: str
    authored_at: datetime
    committer_name: str
    committer_email: str
    committed_at: datetime


def parse_commit(output: bytes) -> Commit:
    """Read what `git log --date=raw --format=COMMIT_FORMAT` wrote for one commit."""
    fields = output.decode("utf-8", "replace").split("\0", 8)
    sha, parents, author_name, author_email, authored, committer_name, committer_email, committed, message = fields
    message = message.rstrip("\n")
    return Commit(
        sha=sha,
        parents=tuple(parents.split()),
        title=message.split("\n", 1)[0],
        message=message,
        author_name=author_name,
        author_email=author_email,
        authored_at=time_of(authored),
        committer_name=committer_name,
        committer_email=committer_email,
        committed_at=time_of(committed),
    )


def time_of(raw: str) -> datetime:
    """`<seconds> <+hhmm>` as a time; a time that no calendar has becomes 1970, a zone that none has becomes UTC."""
    seconds, _, zone = raw.partition(" ")
    try:
        minutes = int(zone[1:3]) * 60 + int(zone[3:5])
        place = timezone(timedelta(minutes=-minutes if zone[0] == "-" else minutes))
    except (ValueError, IndexError):
        place = UTC
    try:
        return datetime.fromtimestamp(int(seconds), place)
    except (ValueError, OverflowError, OSError):
        return datetime.fromtimestamp(0, UTC)
