"""Tickets for one archive: what the address of a report carries in the place of a cookie.

A report is shown in an origin of its own, whose calls bring no cookies of ours; so the address of each of its files
says whose eyes they are for (docs/decisions/0054-reports-in-an-origin-of-their-own.md). A ticket opens the files of one
archive, for half an hour, as far as that person may still read them, and nothing else; it ends with the session or the
access token that it was made for.
"""

import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from auth import signed_token
from auth.key_ring import KeyRing
from auth.signed_token import TokenKind
from domain.errors import NotFound

LIFETIME: Final = timedelta(minutes=30)
"""How long the files of a report come; the page around it makes a new ticket each time that it is loaded."""

_KIND: Final = TokenKind("perdure-archive+jwt", "perdure:archive")
OVER: Final = "This view has ended: it lasts half an hour. Reload the page from which it was opened."


@dataclass(frozen=True, slots=True)
class ArchiveTicket:
    """Whose ticket it is (`user_id`, 0 for who is not signed in), and for which artifact (its row) of which job.

    `session_id` and `epoch` are those of the session that it was made for, `token_id` that of the access token that was
    shown, or that the session began with; 0 for none.
    """

    user_id: int
    job_id: int
    artifact_id: int
    session_id: str = ""
    epoch: int | None = None
    token_id: int = 0

    @property
    def is_backed(self) -> bool:
        """Whether it ends with something; that of nobody needs nothing."""
        return not self.user_id or bool(self.session_id or self.token_id)


def issue_archive_ticket(ring: KeyRing, ticket: ArchiveTicket, now: datetime, until: datetime | None = None) -> str:
    """The ticket as text, for one segment of an address; good no longer than `until`."""
    claims = {
        "sub": str(ticket.user_id),
        "iat": now,
        "exp": min(filter(None, (now + LIFETIME, until))),
        "jti": secrets.token_hex(8),
        "job": ticket.job_id,
        "artifact": ticket.artifact_id,
        "session": ticket.session_id,
        "epoch": ticket.epoch,
        "token": ticket.token_id,
    }
    return signed_token.sign(ring, _KIND, claims)


def read_archive_ticket(ring: KeyRing, token: str) -> ArchiveTicket:
    """What a ticket says. Raises `NotFound`, which says what to do, for one that is over or none of ours."""
    claims = signed_token.read(ring, _KIND, token)
    if claims is None or not claims["sub"].isdecimal() or "session" not in claims:  # one of before is over soon
        raise NotFound(OVER)
    user_id, job_id, artifact_id = (int(claims[name]) for name in ("sub", "job", "artifact"))
    return ArchiveTicket(user_id, job_id, artifact_id, claims["session"], claims["epoch"], claims["token"])
