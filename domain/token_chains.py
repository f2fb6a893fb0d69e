"""What a token may make: nothing that it makes opens more, or longer, than the token itself.

| who calls | makes | ends |
|---|---|---|
| a session that began with a password or at a provider | all kinds | when its maker says, or never |
| a personal token, or a session that began with one | all kinds, of at most its scopes | with the token at the latest |
| a token of a project or group, whose robot it is; an impersonation token; a job; a visit that a token began | none | |

Kinds are personal, impersonation, project, group, deploy and trigger tokens, and SSH keys. A rotated token is the same
link of the chain: its successor is made by what made it, and what it has made is the successor's. Tokens of runners are
not among them: a runner is its project's, group's or installation's, which list and remove it, and scripts register
runners with short tokens (GitLab: "Create a runner", scope `create_runner`).
"""

from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from typing import Final, TypeVar

from domain.errors import FieldsInvalid, Forbidden

MAX_ABOVE: Final = 10
"""So many tokens may stand above another one: each call looks at all of them."""

TOKEN_ELSEWHERE: Final = -1
"""The token of a visit whose person signed in at their home pod by one: only that pod knows when it ends."""

_Moment = TypeVar("_Moment", date, datetime)


@dataclass(frozen=True, slots=True)
class Maker:
    """What makes a credential: a token, or a person who has shown none (`id` None).

    `ends_on` is the day from which on the token is worth nothing; `above` how many tokens stand above it.
    """

    id: int | None = None
    ends_on: date | None = None
    is_of_robot: bool = False
    is_impersonation: bool = False
    above: int = 0

    def require_may_make(self) -> None:
        """Raise `Forbidden` for what makes no credentials."""
        if self.is_of_robot:
            raise Forbidden("Forbidden: the token of a robot makes no tokens and keys; a person of its project does.")
        if self.is_impersonation:
            raise Forbidden("Forbidden: an impersonation token makes no tokens and keys.")
        if self.id is not None and self.above >= MAX_ABOVE:
            raise Forbidden(f"Forbidden: this token was made by a chain of {MAX_ABOVE} others, and makes no more.")

    def last_day(self, wanted: date | None) -> date | None:
        """The day on which what it makes ends. Raises `FieldsInvalid` for one that is wanted and too late."""
        return _within(self.ends_on, wanted)

    def last_moment(self, wanted: datetime | None) -> datetime | None:
        """The moment at which what it makes ends. Raises `FieldsInvalid` for one that is wanted and too late."""
        return _within(None if self.ends_on is None else datetime.combine(self.ends_on, time(), UTC), wanted)


def _within(latest: _Moment | None, wanted: _Moment | None) -> _Moment | None:
    if latest is None or wanted is None:
        return wanted if latest is None else latest
    if wanted > latest:
        raise FieldsInvalid(
            expires_at=f"is invalid: must not be after {latest.isoformat()[:10]}, when the token that makes it ends"
        )
    return wanted
