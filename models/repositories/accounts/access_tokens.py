"""Access tokens of people, projects and groups: listed, revoked, replaced."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import func, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.errors import NotFound
from models.columns import table_of
from models.repositories.accounts.accounts import access_token, is_good
from models.repositories.paging import Listing
from models.rows.accounts import AccessTokenRow
from models.tables.namespaces import Namespace
from models.tables.projects import Project
from models.typed_rows import first_of

token = access_token
namespace = table_of(Namespace)
project = table_of(Project)


@dataclass(frozen=True, slots=True)
class TokenFilter:
    """Which tokens; empty fields do not narrow. Without `project_id` and `namespace_id` those of people.

    Those of `impersonation` are listed by themselves only: the person that they act as does not see them. `of_robots`:
    whosoever they are, also those of projects and groups.
    """

    user_id: int | None = None
    project_id: int | None = None
    namespace_id: int | None = None
    state: str = ""
    revoked: bool | None = None
    search: str = ""
    impersonation: bool = False
    of_robots: bool = False


@dataclass(frozen=True, slots=True)
class ListedToken(AccessTokenRow):
    """A token, and whether it is neither revoked nor expired."""

    active: bool


def listed(wanted: TokenFilter) -> Listing[ListedToken]:
    """Statement for tokens, newest first; their hashes are among the columns, and are shown to nobody."""
    statement = select(token, is_good().label("active")).order_by(token.c.id.desc())
    for column in (token.c.project_id, token.c.namespace_id):
        value = getattr(wanted, column.name)
        if value is not None:
            statement = statement.where(column == value)
        elif not wanted.of_robots:
            statement = statement.where(column.is_(None))
    statement = statement.where(token.c.impersonation == wanted.impersonation)
    if wanted.user_id is not None:
        statement = statement.where(token.c.user_id == wanted.user_id)
    if wanted.state:
        statement = statement.where(is_good() if wanted.state == "active" else ~is_good())
    if wanted.revoked is not None:
        statement = statement.where(token.c.revoked_at.is_not(None) if wanted.revoked else token.c.revoked_at.is_(None))
    if wanted.search:
        statement = statement.where(func.lower(token.c.name).contains(wanted.search.lower(), autoescape=True))
    return Listing(statement, ListedToken)


async def get(connection: AsyncConnection, token_id: int, wanted: TokenFilter) -> ListedToken:
    """One of the tokens that a filter lets through. Raises `NotFound`."""
    row = first_of(ListedToken, await connection.execute(listed(wanted).statement.where(token.c.id == token_id)))
    if row is None:
        raise NotFound("Not found")
    return row


async def organisation_of(connection: AsyncConnection, row: AccessTokenRow) -> int:
    """The organisation of the project or group whose token it is; 0 for one of a person."""
    if row.project_id is not None:
        statement = select(project.c.organisation_id).where(project.c.id == row.project_id)
    else:
        statement = select(namespace.c.organisation_id).where(namespace.c.id == row.namespace_id)
    return (await connection.execute(statement)).scalar() or 0


async def replace(
    connection: AsyncConnection, row: AccessTokenRow, token_hash: str, now: datetime, **values: Any
) -> int:
    """A new token in the place of an old one, which is revoked; its id."""
    await connection.execute(
        update(token).where(token.c.id == row.id, token.c.revoked_at.is_(None)).values(revoked_at=now)
    )
    kept = ("user_id", "project_id", "namespace_id", "name", "description", "scopes", "created_by", "impersonation")
    same = {name: getattr(row, name) for name in kept}
    statement = insert(token).values(**{**same, **values}, token_hash=token_hash, created_at=now)
    made: int = (await connection.execute(statement.returning(token.c.id))).scalar_one()
    return made


async def by_id(connection: AsyncConnection, token_id: int) -> ListedToken | None:
    """One token, whosoever it is, if it is there."""
    statement = select(token, is_good().label("active")).where(token.c.id == token_id)
    return first_of(ListedToken, await connection.execute(statement))
