"""Tokens that name no pod: each opens only the pod that it was made in, and a router sends it to the first one."""

from dataclasses import astuple, dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, Table, false, func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from models.columns import table_of
from models.repositories.accounts.accounts import access_token, is_good
from models.repositories.namespaces.deploy_tokens import deploy_token, is_active
from models.repositories.projects.triggers import has_not_expired, trigger
from models.tables.installation import Installation

installation = table_of(Installation)


@dataclass(frozen=True, slots=True)
class TokensWithoutPod:
    """How many there are that are still good, by kind."""

    access_tokens: int = 0
    deploy_tokens: int = 0
    trigger_tokens: int = 0
    registration_tokens: int = 0

    def __bool__(self) -> bool:
        """Whether there are any."""
        return any(astuple(self))


async def count(connection: AsyncConnection, now: datetime) -> TokensWithoutPod:
    """Those of the whole installation; tokens of runners, projects and groups for registration all name their pod."""

    async def number(table: Table, *rules: ColumnElement[bool]) -> int:
        statement = select(func.count()).select_from(table).where(*rules)
        return int((await connection.execute(statement)).scalar_one())

    return TokensWithoutPod(
        await number(access_token, access_token.c.names_pod == false(), is_good()),
        await number(deploy_token, deploy_token.c.names_pod == false(), is_active(now)),
        await number(trigger, trigger.c.names_pod == false(), has_not_expired(now)),
        await number(
            installation,
            installation.c.registration_names_pod == false(),
            installation.c.registration_token_hash != "",
        ),
    )
