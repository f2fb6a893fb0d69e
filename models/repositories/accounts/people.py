"""Lists of people."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from sqlalchemy import ColumnElement, func, or_, select

from models.columns import table_of
from models.repositories.accounts.accounts import user
from models.repositories.paging import Listing
from models.rows.accounts import UserRow
from models.tables.identities import Identity

identity = table_of(Identity)

_EVER: Final = datetime.fromtimestamp(0, UTC)


@dataclass(frozen=True, slots=True)
class PeopleFilter:
    """Which people; empty fields do not narrow.

    `search` is in user names and names, or, with `by_email`, is an e-mail address. `subject` is who they are at a
    provider.
    """

    username: str = ""
    search: str = ""
    state: str = ""
    without_state: str = ""
    external: bool | None = None
    bots: bool | None = None
    admins: bool = False
    created_after: datetime | None = None
    created_before: datetime | None = None
    subject: str = ""
    by_email: bool = False


def people(wanted: PeopleFilter) -> Listing[UserRow]:
    """Statement for people, newest first."""
    rules = (
        (wanted.username, func.lower(user.c.username) == wanted.username.lower()),
        (wanted.search, _found_by(wanted)),
        (wanted.state, user.c.state == wanted.state),
        (wanted.without_state, user.c.state != wanted.without_state),
        (wanted.external is not None, user.c.external == bool(wanted.external)),
        (wanted.bots is not None, user.c.bot == bool(wanted.bots)),
        (wanted.admins, user.c.is_admin),
        (wanted.created_after, user.c.created_at > (wanted.created_after or _EVER)),
        (wanted.created_before, user.c.created_at < (wanted.created_before or _EVER)),
        (wanted.subject, user.c.id.in_(select(identity.c.user_id).where(identity.c.subject == wanted.subject))),
    )
    narrowed = [rule for asked, rule in rules if asked]
    return Listing(select(user).where(*narrowed).order_by(user.c.id.desc()), UserRow)


def _found_by(wanted: PeopleFilter) -> ColumnElement[bool]:
    text = wanted.search.lower()
    parts = [func.lower(column).contains(text, autoescape=True) for column in (user.c.username, user.c.name)]
    return or_(*parts, *([func.lower(user.c.email) == text] if wanted.by_email else []))
