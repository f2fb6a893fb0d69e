"""Projects."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from sqlalchemy import ColumnElement, and_, delete, insert, or_, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.decimal_number import decimal_number
from models.columns import table_of
from models.repositories.accounts import members
from models.repositories.hooks import hooks
from models.repositories.namespaces import namespaces
from models.repositories.owner import Owner
from models.repositories.projects import protected_refs
from models.rows.namespaces import NamespaceRow
from models.rows.projects import ProjectRow
from models.tables.projects import Project
from models.tables.sharing import ProjectRedirect
from models.typed_rows import all_of, first_of

project = table_of(Project)
redirect = table_of(ProjectRedirect)

REPORTER: Final = 20
_MAX_ID = 16
"""Digits of 2^53, the largest id there is."""


async def create_project(
    connection: AsyncConnection,
    owner: NamespaceRow,
    path: str,
    name: str,
    creator_id: int,
    now: datetime,
    *,
    visibility: str = "private",
    default_branch: str = "main",
    level: int = 50,
    **values: Any,
) -> int:
    """Add a project to the group `owner`; its creator becomes a member, its default branch is protected.

    Raises `Invalid` when the path is taken.
    """
    full_path = f"{owner.full_path}/{path}"
    await namespaces.require_free(connection, full_path)
    await connection.execute(delete(redirect).where(redirect.c.full_path == full_path))
    statement = insert(project).values(
        organisation_id=owner.organisation_id,
        namespace_id=owner.id,
        creator_id=creator_id,
        path=path,
        name=name,
        full_path=full_path,
        default_branch=default_branch,
        visibility=visibility,
        pipeline_count=0,
        created_at=now,
        **values,
    )
    made: int = (await connection.execute(statement.returning(project.c.id))).scalar_one()
    await members.add_to_project(connection, made, creator_id, level)
    await protected_refs.protect_branch(connection, made, default_branch, now)
    await hooks.watch(connection, Owner(project_id=made))
    return made


async def change(connection: AsyncConnection, project_id: int, **values: Any) -> None:
    """Write columns of a project."""
    await connection.execute(update(project).where(project.c.id == project_id).values(**values))


async def find(connection: AsyncConnection, reference: int | str, *, removed: bool = False) -> ProjectRow | None:
    """A project by its id, its full path or one that it had, or None.

    One that is being removed is not there, unless `removed`.
    """
    text = str(reference)
    key = decimal_number(text, _MAX_ID)
    if key is None:
        before = select(redirect.c.project_id).where(redirect.c.full_path == text)
        rule = or_(project.c.full_path == text, project.c.id.in_(before))
    else:
        rule = project.c.id == key
    statement = select(project).where(rule, *([] if removed else [project.c.removal_asked_at.is_(None)]))
    own_path_first = statement.order_by((project.c.full_path == text).desc())
    return first_of(ProjectRow, await connection.execute(own_path_first.limit(1)))


async def move(connection: AsyncConnection, row: ProjectRow, owner: NamespaceRow) -> None:
    """Move a project into another group of its organisation; its path leads there. Raises `Invalid` if that is taken.

    What waits and runs goes on: jobs know their project by its id, and the old path leads to it.
    """
    full_path = f"{owner.full_path}/{row.path}"
    await namespaces.require_free(connection, full_path)
    await connection.execute(delete(redirect).where(redirect.c.full_path.in_((full_path, row.full_path))))
    await connection.execute(insert(redirect).values(full_path=row.full_path, project_id=row.id))
    await change(connection, row.id, namespace_id=owner.id, full_path=full_path)


async def everything(connection: AsyncConnection) -> Sequence[ProjectRow]:
    """All projects, newest first: for what the server does by itself."""
    return all_of(ProjectRow, await connection.execute(select(project).order_by(project.c.id.desc())))


@dataclass(frozen=True, slots=True)
class Viewer:
    """Who looks at a list: administrators see all, `internal` those who may see internal projects and groups."""

    user_id: int = 0
    is_admin: bool = False
    internal: bool = False

    @property
    def open_to(self) -> tuple[str, ...]:
        """Visibilities of what is there for this person without being a member."""
        return ("public", "internal") if self.internal else ("public",)


def visible(viewer: Viewer, level: int = 1) -> ColumnElement[bool]:
    """Whether somebody has a project in their lists: an open one, or one that they are a member of at such a level.

    The rules are those of `auth.permissions` for one project; whoever may see an open project may read it, too.
    """
    stays = project.c.removal_asked_at.is_(None)
    if viewer.is_admin:
        return stays
    mine = project.c.id.in_(members.project_ids(viewer.user_id, level))
    return and_(stays, or_(project.c.visibility.in_(viewer.open_to), mine))


async def readable_of(connection: AsyncConnection, viewer: Viewer, project_ids: Iterable[int]) -> frozenset[int]:
    """Those of the projects whose pipelines somebody may see: guests of a private one may not."""
    statement = select(project.c.id).where(project.c.id.in_(list(project_ids)), visible(viewer, REPORTER))
    return frozenset((await connection.execute(statement)).scalars())


async def newest(connection: AsyncConnection, which: ColumnElement[bool], most: int) -> Sequence[ProjectRow]:
    """So many of these projects at most, the newest first."""
    statement = select(project).where(which).order_by(project.c.id.desc()).limit(most)
    return all_of(ProjectRow, await connection.execute(statement))
