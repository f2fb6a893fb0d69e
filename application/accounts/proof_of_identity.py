"""Who somebody is that shows a name and a secret: the person's password, or an access token that may do everything."""

from dataclasses import dataclass
from typing import Final

from application.services import Services
from auth.scopes import Scope
from auth.secret_token import digest
from git.turns import Places, turn_of
from models.repositories.accounts import accounts
from models.rows.accounts import UserRow

SIGN_INS: Final = Places(at_once=2, of_caller=1, of_repository=2, what="sign-ins")
"""Passwords that are compared: each takes a thread of two, and long on purpose. One address never has both."""


@dataclass(frozen=True, slots=True)
class Proven:
    """A person who has shown who they are; `token_id` is that of the access token they showed, 0 for a password."""

    row: UserRow
    token_id: int = 0


async def proven(services: Services, key: str, login: str, secret: str) -> Proven | None:
    """The person with this user name or e-mail address, if the secret is theirs; unknown people take as long to refuse.

    A session may do everything, so a token with narrower scopes does not make one. A password whose hash has old
    parameters is hashed anew. `key` is whose turn it takes (`api.deps.key_of`). Raises `Unavailable` when that does not
    come in time.
    """
    async with services.database.read() as connection:
        row = await accounts.by_login(connection, login)
        token = await accounts.by_token(connection, digest(secret.strip()))
    known = "" if row is None else row.password_hash
    async with turn_of(SIGN_INS, key, ""):
        is_password = await services.passwords.is_right(known, secret)
    if row is None:
        return None
    if is_password:
        await _keep_up(services, row, secret)
        return Proven(row)
    if token is not None and token.id == row.id and Scope.API in token.scopes:
        return Proven(row, token.token_id)
    return None


async def _keep_up(services: Services, row: UserRow, password: str) -> None:
    if services.passwords.is_outdated(row.password_hash):
        fresh = await services.passwords.hashed(password)
        async with services.database.write() as connection:
            await accounts.renew_hash(connection, row.id, row.password_hash, fresh)
