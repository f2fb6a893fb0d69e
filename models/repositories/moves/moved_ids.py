"""Ids by which others call what moves: a directory has to know that they are of an organisation."""

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.pods.directory import IdKind
from models.columns import table_of
from models.tables.incoming_hooks import IncomingHook
from models.tables.namespaces import Namespace
from models.tables.projects import Project

hook = table_of(IncomingHook)
namespace = table_of(Namespace)
project = table_of(Project)


async def of_organisation(connection: AsyncConnection, organisation_id: int) -> dict[str, list[int]]:
    """The ids of its projects, of its groups, and of the hooks that forges call, by `IdKind`."""
    mine = select(project.c.id).where(project.c.organisation_id == organisation_id)
    statements = {
        IdKind.PROJECT: mine,
        IdKind.GROUP: select(namespace.c.id).where(namespace.c.organisation_id == organisation_id),
        IdKind.HOOK: select(hook.c.id).where(hook.c.project_id.in_(mine)),
    }
    return {kind.value: sorted((await connection.execute(each)).scalars()) for kind, each in statements.items()}
