"""Deploy tokens of projects and groups. What is sealed goes in and out sealed."""

from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, and_, insert, or_, select, true, update
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.errors import NotFound
from models.columns import table_of
from models.repositories.accounts.accounts import is_chain_good
from models.repositories.namespaces.group_ancestry import lies_in
from models.repositories.owner import Owner
from models.repositories.paging import Listing
from models.rows.deploy_tokens import DeployTokenRow
from models.tables.deploy_tokens import DeployToken
from models.tables.namespaces import Namespace
from models.tables.projects import Project
from models.typed_rows import first_of

deploy_token = table_of(DeployToken)
namespace = table_of(Namespace)
project = table_of(Project)


def _of(owner: Owner) -> ColumnElement[bool]:
    """Whether a token is this owner's; the installation's are those of everybody."""
    return true() if owner == Owner() else owner.own(deploy_token)


def is_active(now: datetime) -> ColumnElement[bool]:
    """Whether a token is good now."""
    lasting = or_(deploy_token.c.expires_at.is_(None), deploy_token.c.expires_at > now)
    return and_(deploy_token.c.revoked_at.is_(None), lasting)


def of_owner(owner: Owner, now: datetime, *, active: bool | None = None) -> Listing[DeployTokenRow]:
    """Statement for the tokens of an owner, by id; those that are good now or are not, or all."""
    statement = select(deploy_token).where(_of(owner)).order_by(deploy_token.c.id)
    if active is not None:
        statement = statement.where(is_active(now) if active else ~is_active(now))
    return Listing(statement, DeployTokenRow)


async def get(connection: AsyncConnection, owner: Owner, token_id: int) -> DeployTokenRow:
    """A token of an owner. Raises `NotFound`."""
    statement = select(deploy_token).where(_of(owner), deploy_token.c.id == token_id)
    row = first_of(DeployTokenRow, await connection.execute(statement))
    if row is None:
        raise NotFound("Deploy Token Not Found")
    return row


async def add(connection: AsyncConnection, owner: Owner, now: datetime, **values: Any) -> DeployTokenRow:
    """Keep a new token: `name`, `username`, `scopes`, `token_hash`, `sealed`, `expires_at`.

    One without a `username` gets one by its number, as GitLab's have.
    """
    statement = insert(deploy_token).values(**owner.columns, created_at=now, **values).returning(deploy_token.c.id)
    made: int = (await connection.execute(statement)).scalar_one()
    if not values["username"]:
        named = update(deploy_token).where(deploy_token.c.id == made).values(username=f"gitlab+deploy-token-{made}")
        await connection.execute(named)
    return await get(connection, owner, made)


async def revoke(connection: AsyncConnection, token_id: int, now: datetime) -> None:
    """Make a token worth nothing; what is sealed of it is forgotten."""
    values = {"revoked_at": now, "sealed": ""}
    rule = (deploy_token.c.id == token_id) & deploy_token.c.revoked_at.is_(None)
    await connection.execute(update(deploy_token).where(rule).values(**values))


async def by_token(connection: AsyncConnection, username: str, token_hash: str, now: datetime) -> DeployTokenRow | None:
    """The good token that a user name and this hash show, or None."""
    shown = (deploy_token.c.token_hash == token_hash) & (deploy_token.c.username == username)
    row = first_of(DeployTokenRow, await connection.execute(select(deploy_token).where(shown, is_active(now))))
    return row if row is not None and await is_chain_good(connection, row.maker_id) else None


async def opens(connection: AsyncConnection, row: DeployTokenRow, project_id: int) -> bool:
    """Whether a token is for this project: its own, or that of a group that the project lies in."""
    lies_within = lies_in(deploy_token.c.namespace_id)
    around = deploy_token.join(project, project.c.id == project_id).join(
        namespace, namespace.c.id == project.c.namespace_id
    )
    statement = (
        select(deploy_token.c.id)
        .select_from(around)
        .where(deploy_token.c.id == row.id, or_(deploy_token.c.project_id == project_id, lies_within))
    )
    return (await connection.execute(statement)).first() is not None


async def note_use(connection: AsyncConnection, token_id: int, now: datetime) -> None:
    """Remember when a token was used last."""
    await connection.execute(update(deploy_token).where(deploy_token.c.id == token_id).values(last_used_at=now))
