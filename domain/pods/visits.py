"""Visitors: people of another pod, what their home says of them, and which row here is theirs.

A person comes with a ticket that their home pod has signed for the one pod that they want to see (docs/pods.md,
"Visitors").
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

from domain.errors import Unauthenticated
from domain.pods.claims import MAX_EMAIL
from domain.pods.credentials import BrowserSession
from domain.pods.directory import Directory
from domain.projects.path_names import is_path

TICKET_TYPE: Final = "perdure-visit+jwt"
TICKET_FOR: Final = timedelta(seconds=60)
"""How long a ticket is good: a browser shows it at once."""
SESSION_FOR: Final = timedelta(hours=1)
"""How long a visitor's session is good. Whoever is blocked at home is out everywhere within this time."""
REFUSED: Final = "You could not be let in from the pod where you are at home. Sign in again, or ask an administrator."
"""Whatever is wrong with a ticket: nobody learns more by trying."""
_MAX_NAME: Final = 255


def audience_of(pod: str) -> str:
    """Whom a ticket for the pod with this name is meant for."""
    return f"perdure:visit:{pod}"


ACTIVE: Final = "active"
BLOCKED_AT_HOME: Final = "blocked_at_home"
"""A visitor whom the pod where they are at home has blocked, while nobody here has."""
_BY_HOME: Final[Mapping[tuple[str, bool], str]] = {
    (ACTIVE, True): BLOCKED_AT_HOME,
    (BLOCKED_AT_HOME, False): ACTIVE,
}
"""What a visitor's account becomes when home says whether they are blocked; whom this pod has blocked stays so."""


def state_by_home(state: str, *, is_blocked: bool) -> str:
    """What the account of a visitor is from now on, as home says whether they are blocked there."""
    return _BY_HOME.get((state, is_blocked), state)


@dataclass(frozen=True, slots=True)
class VisitorState:
    """What a pod says of one of its people to a pod that they have visited."""

    is_blocked: bool


@dataclass(frozen=True, slots=True)
class Guest:
    """Who comes, as their home pod says; `home_id` is the id of their account there.

    `by_token`: their session at home began with an access token, which ends there alone.
    """

    home_pod: int
    home_id: int
    username: str
    name: str
    email: str
    external: bool = False
    by_token: bool = False

    def claims(self) -> dict[str, Any]:
        """The same as claims of a ticket, the issuer of which is the home pod."""
        person = {"sub": self.username, "home_id": self.home_id, "name": self.name, "email": self.email}
        return {**person, "external": self.external, "by_token": self.by_token}


def guest_in(claims: Mapping[str, Any], home_pod: int) -> Guest:
    """Who comes with the claims of a good ticket of a pod. Raises `Unauthenticated`."""
    username, name, email = (claims.get(key) for key in ("sub", "name", "email"))
    home_id, external, by_token = claims.get("home_id"), claims.get("external"), claims.get("by_token", False)
    if not (isinstance(username, str) and isinstance(name, str) and isinstance(email, str)):
        raise Unauthenticated(REFUSED)
    if type(home_id) is not int or home_id <= 0 or not (isinstance(external, bool) and isinstance(by_token, bool)):
        raise Unauthenticated(REFUSED)
    if not is_path(username) or not 0 < len(name) <= _MAX_NAME or len(email) > MAX_EMAIL:
        raise Unauthenticated(REFUSED)
    return Guest(home_pod, home_id, username, name, email, external, by_token)


def require_home(guest: Guest, here: int, directory: Directory) -> None:
    """Raise `Unauthenticated` unless the directory says that the name's home is the pod that vouches for it."""
    if guest.home_pod == here or home_of(guest.username, directory) != guest.home_pod:
        raise Unauthenticated(REFUSED)


def home_of(username: str, directory: Directory) -> int | None:
    """The number of the pod that claimed a name; None for one that nobody has."""
    return directory.organisations.get(username.lower())


def leads_home(sessions: Iterable[BrowserSession], here: int) -> bool:
    """Whether a browser with these sessions is worth sending home for a ticket: it may be signed in there.

    A visit leads nowhere: only the home pod knows whether somebody may still come.
    """
    return any(session.pod != here and not session.is_visit for session in sessions)


@dataclass(frozen=True, slots=True)
class Known:
    """A row that may be a guest's: whose it is, if it is a visitor's, and who they are at home, if they ever came."""

    id: int
    home_pod: int | None
    home_id: int | None


def row_of(guest: Guest, same_person: Known | None, same_name: Known | None) -> int | None:
    """The id of the row that is the guest's; None where one is to be made. Raises `Unauthenticated`.

    `same_person` has their pod and their id there, `same_name` their name. A row is one person's for ever: a name that
    was given to somebody else at home, or in another pod, does not bring the memberships of whoever had it before.
    """
    if same_person is not None:
        if same_name is not None and same_name.id != same_person.id:
            raise Unauthenticated(REFUSED)
        return same_person.id
    if same_name is None:
        return None
    was_expected = same_name.home_pod == guest.home_pod and same_name.home_id is None
    if not was_expected:
        raise Unauthenticated(REFUSED)
    return same_name.id
