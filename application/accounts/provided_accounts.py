"""Whose account it is when somebody comes back from a provider: a known one, one to link, or a new one."""

from datetime import datetime
from typing import Final

from sqlalchemy.ext.asyncio import AsyncConnection

from application.services import Services
from auth.oidc.profile import Profile
from domain.errors import Forbidden
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


async def account_of(services: Services, profile: Profile, address: str) -> UserRow:
    """The account that somebody signs in to. Raises `Forbidden` with what an administrator can do about it."""
    settings, now = services.settings.oidc, services.clock()
    async with services.database.write() as connection:
        row = await identities.person_of(connection, profile.issuer, profile.subject)
        what = "" if row is not None else "identity_linked"
        if row is None:
            row = await _to_link(connection, settings, profile)
        if row is None:
            row, what = await _made(connection, settings, profile, now), "user_created"
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


async def _to_link(connection: AsyncConnection, settings: OidcSettings, profile: Profile) -> UserRow | None:
    """The account that has the verified address, if accounts may be linked by it. Raises `Forbidden` if not."""
    found = await accounts.by_email(connection, profile.email) if profile.email else ()
    if not found:
        return None
    if not settings.link_accounts or len(found) > 1:
        raise Forbidden("There is an account with your e-mail address, which is not linked to this way of signing in.")
    return found[0]


async def _made(connection: AsyncConnection, settings: OidcSettings, profile: Profile, now: datetime) -> UserRow:
    if not settings.create_accounts:
        raise Forbidden("You have no account here; an administrator can make one for you.")
    if not profile.email:
        raise Forbidden("The provider has not verified your e-mail address; without one no account is made.")
    username = await _free_name(connection, path_from(profile.username))
    user_id = await accounts.create_user(connection, username, profile.name or username, profile.email, now)
    return await accounts.get(connection, user_id)


async def _free_name(connection: AsyncConnection, wanted: str) -> str:
    """A user name that neither a person nor a group has. Raises `Forbidden`."""
    for number in range(_NAMES if is_path(wanted) else 0):
        name = f"{wanted}{number or ''}"
        if is_path(name) and not is_reserved(name) and await namespaces.is_free(connection, name):
            return name
    raise Forbidden("The provider gives you no name that can be a user name here.")


async def _note(connection: AsyncConnection, row: UserRow, happened: Happened, address: str, now: datetime) -> None:
    author, entity = Author(row.id, row.username, address), Entity("user", row.id, row.username)
    await audit.add(connection, author, entity, happened, now)
