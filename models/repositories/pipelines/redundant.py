"""Older pipelines of a ref that a new one makes redundant: they are told in the transaction that creates it.

Source: docs/reference/pipelines.md, "Automatic cancel". `domain/pipelines/redundancy.py` decides who is redundant; SQL
only narrows the search to the pipelines of the ref that have not ended. What such a pipeline then cancels is up to its
workflow.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from sqlalchemy import bindparam, select
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.pipelines.named_pipeline import named_pipeline
from domain.pipelines.redundancy import NOT_OLDER_THAN, Contender, cancels_others, is_redundant
from domain.pipelines.status import LIVE, Status
from models.columns import table_of
from models.repositories.pipelines import outbox
from models.tables.pipelines import Pipeline
from models.tables.projects import Project
from models.typed_rows import all_of, first_of

pipeline = table_of(Pipeline)
project = table_of(Project)

COMMAND: Final = "auto_cancel"
"""The command that a redundant pipeline gets."""

_FACTS: Final = (
    pipeline.c.id,
    pipeline.c.project_id,
    pipeline.c.ref,
    pipeline.c.tag,
    pipeline.c.sha,
    pipeline.c.source,
    pipeline.c.status,
    pipeline.c.created_at,
    pipeline.c.auto_cancel,
)
_NEW: Final = (
    select(*_FACTS)
    .join(project, project.c.id == pipeline.c.project_id)
    .where(pipeline.c.id == bindparam("b_pipeline"), project.c.auto_cancel_redundant)
)
_UNFINISHED: Final = select(*_FACTS).where(
    pipeline.c.project_id == bindparam("b_project"),
    pipeline.c.ref == bindparam("b_ref"),
    pipeline.c.status.in_([str(status) for status in sorted(LIVE)]),
    pipeline.c.created_at >= bindparam("b_since"),
)
"""All that the index of refs can tell apart; by id or order the whole history of the project would be read."""


@dataclass(frozen=True, slots=True)
class _Facts:
    """What is looked at of a pipeline."""

    id: int
    project_id: int
    ref: str
    tag: bool
    sha: str
    source: str
    status: str
    created_at: datetime
    auto_cancel: Mapping[str, str]


async def tell(connection: AsyncConnection, pipeline_id: int, now: datetime, *, head: str = "") -> list[int]:
    """Ask every pipeline that this new one makes redundant for `auto_cancel`; give back their ids.

    `head` is the commit that the ref points to by now, empty if nobody looked. A repetition tells nobody twice: the
    key of the command is that of the new pipeline.
    """
    row = first_of(_Facts, await connection.execute(_NEW, {"b_pipeline": pipeline_id}))
    if row is None or not cancels_others(new := _contender(row)):
        return []
    search = {"b_project": new.project_id, "b_ref": new.ref, "b_since": new.created_at - NOT_OLDER_THAN}
    others = map(_contender, all_of(_Facts, await connection.execute(_UNFINISHED, search)))
    redundant = sorted(other.id for other in others if is_redundant(other, new, head))
    for old_id in redundant:
        await outbox.put(connection, outbox.COMMAND, old_id, now, payload=_command(row))
    return redundant


def _contender(row: _Facts) -> Contender:
    return Contender(
        id=row.id,
        project_id=row.project_id,
        ref=row.ref,
        tag=row.tag,
        sha=row.sha,
        source=row.source,
        status=Status(row.status),
        created_at=row.created_at,
        on_new_commit=row.auto_cancel.get("on_new_commit", "conservative"),
    )


def _command(new: _Facts) -> dict[str, Any]:
    reason = f"canceled by {named_pipeline(new.id)}: a newer commit of {new.ref} came ({new.sha[:8]})"
    return {"name": COMMAND, "key": f"auto-cancel-{new.id}", "reason": reason}
