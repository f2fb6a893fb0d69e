"""Whose account it is when somebody comes back from a provider: a known one, one to link, or a new one."""

from datetime import datetime
from typing import Final

from sqlalchemy.ext.asyncio import AsyncConnection

from application.pods import names
from application.pods.visitors import require_own
from application.services import Services
from auth.oidc.profile import Profile
from domain.errors import Forbidden, PathTaken
from domain.projects.path_names import is_path, is_reserved, path_from
from models.notifications import RUNNERS
from models.repositories.accounts import accounts, identities
from models.repositories.installation import audit
from models.repositories.installation.audit import Author, Entity, Happened
from models.repositories.namespaces import namespaces
from models.rows.accounts import UserRow
from settings import OidcSettings

_NAMES: Final = 100
"""So many names are tried for a new person: `ada`, `ada1`, `ada2`."""
_NO_NAME: Final = "The provider gives you no name that can be a user name here."


async def account_of(services: Services, profile: Profile, address: str) -> UserRow:
    """The account that somebody signs in to. Raises `Forbidden` with what an administrator can do about it."""
    for number in range(_NAMES):
        username = await _name_of_new(services, profile, number)
        try:
            return await _signed_in(services, profile, address, username)
        except PathTaken:  # in another pod of the cluster
            continue
    raise Forbidden(_NO_NAME)


async def _name_of_new(services: Services, profile: Profile, number: int) -> str:
    """How a person who is new is to be called, with a number of at least this behind it; empty for who is known."""
    async with services.database.read() as connection:
        if await identities.person_of(connection, profile.issuer, profile.subject) is not None:
            return ""
        if await _to_link(connection, services, profile) is not None:
            return ""
        _require_new(services.settings.oidc, profile)
        return await _free_name(connection, path_from(profile.username), number)


async def _signed_in(services: Services, profile: Profile, address: str, username: str) -> UserRow:
    """The account, which is made under this name if there is none. Raises `PathTaken` for the name."""
    now = services.clock()
    wanted = (names.path(username), names.email(profile.email)) if username else ()
    async with names.claimed(services, *wanted) as claimed, services.database.write() as connection:
        row = await identities.person_of(connection, profile.issuer, profile.subject)
        what = "" if row is not None else "identity_linked"
        if row is None:
            row = await _to_link(connection, services, profile)
        if row is None:
            row, what = await _made(connection, profile, username, now), "user_created"
            await claimed.use(connection)
        if row.state != accounts.ACTIVE:
            raise Forbidden("This account is blocked; an administrator can unblock it.")
        if what:
            await identities.add(connection, row.id, profile.issuer, profile.subject, now)
            await _note(connection, row, Happened(what, {"provider": profile.issuer}), address, now)
        other = profile.is_admin is not None and profile.is_admin != row.is_admin
        if other:
            await accounts.change(connection, row.id, is_admin=profile.is_admin)
            happened = Happened("user_changed", {"is_admin": profile.is_admin, "provider": profile.issuer})
            await _note(connection, row, happened, address, now)
        row = await accounts.get(connection, row.id)
    if other or what == "user_created":
        await services.notifications.tell(RUNNERS)
    return row


async def _to_link(connection: AsyncConnection, services: Services, profile: Profile) -> UserRow | None:
    """The account that has the verified address, if accounts may be linked by it. Raises `Forbidden` if not."""
    found = await accounts.by_email(connection, profile.email) if profile.email else ()
    if not found:
        return None
    for visitor in found:
        require_own(services, visitor, "use the sign-in page")
    if not services.settings.oidc.link_accounts or len(found) > 1:
        raise Forbidden("There is an account with your e-mail address, which is not linked to this way of signing in.")
    return found[0]


def _require_new(settings: OidcSettings, profile: Profile) -> None:
    """Raise `Forbidden` for who gets no account."""
    if not settings.create_accounts:
        raise Forbidden("You have no account here; an administrator can make one for you.")
    if not profile.email:
        raise Forbidden("The provider has not verified your e-mail address; without one no account is made.")


async def _made(connection: AsyncConnection, profile: Profile, username: str, now: datetime) -> UserRow:
    """Raises `PathTaken` for a name that somebody was quicker to take."""
    if not username:
        raise Forbidden("This account is changing; try again.")
    if not await namespaces.is_free(connection, username):
        raise PathTaken(username="has already been taken")
    user_id = await accounts.create_user(connection, username, profile.name or username, profile.email, now)
    return await accounts.get(connection, user_id)


async def _free_name(connection: AsyncConnection, wanted: str, first: int) -> str:
    """A user name that neither a person nor a group has. Raises `Forbidden`."""
    for number in range(first, _NAMES if is_path(wanted) else 0):
        name = f"{wanted}{number or ''}"
        if is_path(name) and not is_reserved(name) and await namespaces.is_free(connection, name):
            return name
    raise Forbidden(_NO_NAME)


async def _note(connection: AsyncConnection, row: UserRow, happened: Happened, address: str, now: datetime) -> None:
    author, entity = Author(row.id, row.username, address), Entity("user", row.id, row.username)
    await audit.add(connection, author, entity, happened, now)
