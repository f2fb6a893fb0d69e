"""Variables and inputs that a person gives to a job when starting it: they wait here, and never cross Temporal.

They are written before the workflow is asked, under the key of the command, and taken in the transaction that records
the command's answer (docs/seam.md, "Messages": messages carry ids, never secrets).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from sqlalchemy import bindparam, delete
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncConnection

from models.columns import table_of
from models.tables.outbox import PlayVariables

play_variables = table_of(PlayVariables)

_PUT: Final = {
    "postgresql": postgresql.insert(play_variables).on_conflict_do_nothing(),
    "sqlite": sqlite.insert(play_variables).on_conflict_do_nothing(),
}
_TAKE: Final = (
    delete(play_variables)
    .where(play_variables.c.pipeline_id == bindparam("b_pipeline"), play_variables.c.key == bindparam("b_key"))
    .returning(play_variables.c.variables, play_variables.c.inputs)
)


@dataclass(frozen=True, slots=True)
class Given:
    """What was given, as the columns of `Job` have it; None and nothing are for "as it was"."""

    variables: list[dict[str, str]] = field(default_factory=list)
    inputs: Mapping[str, Any] | None = None


async def put(
    connection: AsyncConnection,
    pipeline_id: int,
    key: str,
    job_id: int,
    variables: Sequence[Mapping[str, Any]],
    inputs: Mapping[str, Any] | None = None,
) -> None:
    """Keep variables (as `Job` has them) and inputs of a command; those of one with the same key stay as they are."""
    row = {
        "pipeline_id": pipeline_id,
        "key": key,
        "job_id": job_id,
        "variables": [dict(item) for item in variables],
        "inputs": dict(inputs) if inputs else None,
    }
    await connection.execute(_PUT[connection.dialect.name], row)


async def take(connection: AsyncConnection, pipeline_id: int, key: str) -> Given:
    """What was given with a command, and forget it."""
    found = (await connection.execute(_TAKE, {"b_pipeline": pipeline_id, "b_key": key})).first()
    return Given() if found is None else Given(list(found.variables), found.inputs)
