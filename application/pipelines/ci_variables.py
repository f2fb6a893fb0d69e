"""The variables of instance, groups and project that reach a project, opened.

Source: docs/reference/ci-yaml.md, "Variables".
"""

from collections.abc import Iterable, Sequence

from sqlalchemy.ext.asyncio import AsyncConnection

from application.services import Services
from auth.encryption import Sealer
from domain.variables.ci_variables import CiVariable
from models.repositories.projects import ci_variables
from models.repositories.projects.ci_variables import owner_of, purpose_of
from models.rows.variables import CiVariableRow


async def reaching(services: Services, connection: AsyncConnection, project_id: int) -> tuple[CiVariable, ...]:
    """All that may reach a project, with their values in clear."""
    return opened(services.sealer, await ci_variables.reaching(connection, project_id))


def opened(sealer: Sealer, rows: Iterable[tuple[int, CiVariableRow]]) -> tuple[CiVariable, ...]:
    """Rows with their levels, their values in clear."""
    return tuple(
        CiVariable(
            key=row.key,
            value=sealer.open(row.value, purpose_of(owner_of(row))),
            level=level,
            file=row.variable_type == "file",
            protected=row.protected,
            masked=row.masked,
            raw=row.raw,
            environment_scope=row.environment_scope,
        )
        for level, row in rows
    )


def edition(rows: Sequence[tuple[int, CiVariableRow]]) -> tuple[tuple[int, str], ...]:
    """What differs when any of them was changed, added or removed."""
    return tuple((row.id, row.updated_at.isoformat()) for _, row in rows)
