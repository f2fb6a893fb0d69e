"""Tickets by which people of one pod come to another: their home signs, the other one verifies.

Source: docs/pods.md, "Visitors".
"""

import secrets
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from auth import signed_token
from auth.key_ring import KeyRing
from auth.pod_keys import read_of_pod
from auth.signed_token import TokenKind
from domain.errors import Unauthenticated
from domain.pods.directory import Directory, Pod
from domain.pods.visits import REFUSED, TICKET_FOR, TICKET_TYPE, Guest, audience_of, guest_in, require_home

_ID_BYTES: Final = 16


@dataclass(frozen=True, slots=True)
class Ticket:
    """A good ticket: who comes, and what it is called among all tickets. It is to be taken once."""

    guest: Guest
    ticket_id: str
    expires_at: datetime


def issue_ticket(ring: KeyRing, guest: Guest, target: Pod, now: datetime) -> str:
    """A ticket for one pod, in the name of the ring's pod, which is the guest's home."""
    claims = {**guest.claims(), "iat": now, "exp": now + TICKET_FOR, "jti": secrets.token_urlsafe(_ID_BYTES)}
    return signed_token.sign(ring, _kind(target), claims)


def read_ticket(directory: Directory, here: int, token: str) -> Ticket:
    """What a ticket says that was shown at the pod with the number `here`. Raises `Unauthenticated`."""
    me = directory.by_number.get(here)
    found = None if me is None else read_of_pod(directory, _kind(me), token)
    if found is None or found.claims["exp"] - found.claims["iat"] > TICKET_FOR.total_seconds():
        raise Unauthenticated(REFUSED)
    guest = guest_in(found.claims, found.pod.number)
    require_home(guest, here, directory)
    until = datetime.fromtimestamp(found.claims["exp"], UTC)
    return Ticket(guest, f"{found.pod.number} {found.claims['jti']}", until)


def _kind(target: Pod) -> TokenKind:
    return TokenKind(TICKET_TYPE, audience_of(target.name))
