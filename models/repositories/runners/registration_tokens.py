"""Registration tokens: who shows one may add runners of one kind; only hashes are kept."""

from dataclasses import dataclass

from sqlalchemy import select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.runners.matching import RunnerType
from models.columns import table_of
from models.rows.namespaces import NamespaceRow
from models.rows.projects import ProjectRow
from models.tables.installation import Installation
from models.tables.namespaces import Namespace
from models.tables.projects import Project
from models.typed_rows import first_of

installation = table_of(Installation)
namespace = table_of(Namespace)
project = table_of(Project)


@dataclass(frozen=True, slots=True)
class RunnerScope:
    """Whose runner it is: all empty for an instance runner, `project_id` only for a project runner.

    `namespace_id` is for a runner of a group within an organisation.
    """

    runner_type: RunnerType = RunnerType.INSTANCE
    organisation_id: int | None = None
    project_id: int | None = None
    namespace_id: int | None = None

    @property
    def group_id(self) -> int | None:
        """The group of a group runner."""
        return self.namespace_id or self.organisation_id


async def scope_of(connection: AsyncConnection, token_hash: str) -> RunnerScope | None:
    """What runners a token registers; None if nobody knows it (docs/reference/runner-protocol.md, "Registration")."""
    statement = select(installation.c.id).where(installation.c.registration_token_hash == token_hash)
    if (await connection.execute(statement)).first() is not None:
        return RunnerScope()
    of_project = select(project).where(project.c.registration_token_hash == token_hash)
    owner = first_of(ProjectRow, await connection.execute(of_project))
    if owner is not None:
        return RunnerScope(RunnerType.PROJECT, owner.organisation_id, owner.id)
    of_group = select(namespace).where(namespace.c.registration_token_hash == token_hash)
    group = first_of(NamespaceRow, await connection.execute(of_group))
    return None if group is None else scope_of_group(group)


def scope_of_group(row: NamespaceRow) -> RunnerScope:
    """The scope of runners of a group."""
    return RunnerScope(
        RunnerType.GROUP, row.organisation_id, namespace_id=None if row.id == row.organisation_id else row.id
    )


async def replace(connection: AsyncConnection, scope: RunnerScope, token_hash: str, *, names_pod: bool = True) -> None:
    """Give a scope its registration token; the one before is worth nothing from now on."""
    values = {"registration_token_hash": token_hash}
    match scope.runner_type:
        case RunnerType.INSTANCE:
            await connection.execute(update(installation).values(**values, registration_names_pod=names_pod))
        case RunnerType.GROUP:
            await connection.execute(update(namespace).where(namespace.c.id == scope.group_id).values(**values))
        case RunnerType.PROJECT:
            await connection.execute(update(project).where(project.c.id == scope.project_id).values(**values))
