"""Environments: what jobs of a project deploy to, each known by its name.

Source: docs/reference/pipelines.md, "Environments".
"""

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from typing import Any, Final

from sqlalchemy import delete, func, select, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.environments.places import Place
from domain.errors import FieldsInvalid, NotFound
from models.columns import table_of
from models.repositories.paging import Listing
from models.repositories.pipelines.job_rows import job
from models.rows.environments import EnvironmentRow
from models.tables.environments import Deployment, Environment
from models.typed_rows import all_of, first_of

environment = table_of(Environment)
deployment = table_of(Deployment)

AVAILABLE: Final = "available"
STOPPING: Final = "stopping"
STOPPED: Final = "stopped"

TRANSITIONS: Final[Mapping[str, frozenset[str]]] = {
    AVAILABLE: frozenset({AVAILABLE, STOPPING, STOPPED}),
    STOPPING: frozenset({AVAILABLE, STOPPED}),
    STOPPED: frozenset({AVAILABLE, STOPPED}),
}
"""Which state of an environment may follow which; `stopping` while its stop job is on its way."""

_INSERT: Final[Mapping[str, Any]] = {"postgresql": postgresql.insert, "sqlite": sqlite.insert}


async def ensure(
    connection: AsyncConnection, project_id: int, places: Iterable[Place], now: datetime
) -> dict[str, int]:
    """The ids of the environments of these places, by name; those that are missing are made, in one statement."""
    wanted = {place.environment: place for place in places if place.environment}
    if not wanted:
        return {}
    known = await _ids(connection, project_id, wanted)
    # In the order of the names, so that two pipelines that make the same environments never wait for each other.
    missing = [
        _fresh(project_id, name, place.slug, place.tier, now)
        for name, place in sorted(wanted.items())
        if name not in known
    ]
    if not missing:
        return known
    await connection.execute(_INSERT[connection.dialect.name](environment).on_conflict_do_nothing(), missing)
    return await _ids(connection, project_id, wanted)


def _fresh(project_id: int, name: str, slug: str, tier: str, now: datetime) -> dict[str, Any]:
    return {
        "project_id": project_id,
        "name": name,
        "slug": slug,
        "tier": tier,
        "external_url": "",
        "state": AVAILABLE,
        "kubernetes": {},
        "created_at": now,
        "updated_at": now,
    }


async def _ids(connection: AsyncConnection, project_id: int, names: Collection[str]) -> dict[str, int]:
    statement = select(environment.c.name, environment.c.id).where(
        environment.c.project_id == project_id, environment.c.name.in_(sorted(names))
    )
    return {name: int(key) for name, key in await connection.execute(statement)}


_TAKEN: Final = "has already been taken"


async def create(
    connection: AsyncConnection,
    project_id: int,
    name: str,
    now: datetime,
    *,
    slug: str,
    tier: str,
    external_url: str = "",
) -> int:
    """Make an environment by hand. Raises `Invalid` when the name is taken."""
    if await _ids(connection, project_id, [name]):
        raise FieldsInvalid(name=_TAKEN)
    values = {**_fresh(project_id, name, slug, tier, now), "external_url": external_url}
    statement = _INSERT[connection.dialect.name](environment).values(values).on_conflict_do_nothing()
    made = (await connection.execute(statement.returning(environment.c.id))).scalar()
    if made is None:
        raise FieldsInvalid(name=_TAKEN)
    return int(made)


async def get(connection: AsyncConnection, environment_id: int, project_id: int) -> EnvironmentRow:
    """One environment. Raises `NotFound`, also when it is another project's."""
    statement = select(environment).where(environment.c.id == environment_id, environment.c.project_id == project_id)
    row = first_of(EnvironmentRow, await connection.execute(statement))
    if row is None:
        raise NotFound("Environment Not Found")
    return row


async def by_ids(connection: AsyncConnection, ids: Iterable[int]) -> dict[int, EnvironmentRow]:
    """Environments by id."""
    wanted = sorted(set(ids))
    if not wanted:
        return {}
    found = await connection.execute(select(environment).where(environment.c.id.in_(wanted)))
    return {row.id: row for row in all_of(EnvironmentRow, found)}


def of_project(
    project_id: int, *, name: str = "", search: str = "", state: str = "", folder: str = ""
) -> Listing[EnvironmentRow]:
    """Statement for the environments of a project, by name; empty arguments do not narrow.

    `folder` is what stands before the first `/` of a name.
    """
    statement = select(environment).where(environment.c.project_id == project_id).order_by(environment.c.name)
    if name:
        statement = statement.where(environment.c.name == name)
    if search:
        statement = statement.where(func.lower(environment.c.name).contains(search.lower(), autoescape=True))
    if folder:
        statement = statement.where(environment.c.name.startswith(f"{folder}/", autoescape=True))
    return Listing(statement.where(environment.c.state == state) if state else statement, EnvironmentRow)


async def counts(connection: AsyncConnection, project_id: int) -> dict[str, int]:
    """How many environments of a project are in each state that any is in."""
    statement = select(environment.c.state, func.count()).where(environment.c.project_id == project_id)
    return {row[0]: int(row[1]) for row in await connection.execute(statement.group_by(environment.c.state))}


async def change(connection: AsyncConnection, environment_id: int, now: datetime, **values: Any) -> None:
    """Write columns of an environment that are not its state."""
    statement = update(environment).where(environment.c.id == environment_id)
    await connection.execute(statement.values(updated_at=now, **values))


async def move(connection: AsyncConnection, ids: Iterable[int], to: str, now: datetime, **values: Any) -> list[int]:
    """Move those of the environments to state `to` that may go there; give back their ids. Locks them in their order.

    `sources`, if given, narrows the states that they may come from.
    """
    allowed = {state for state, following in TRANSITIONS.items() if to in following}
    sources = sorted(allowed & set(values.pop("sources", allowed)))
    moved: list[int] = []
    for key in sorted(set(ids)):
        statement = (
            update(environment)
            .where(environment.c.id == key, environment.c.state.in_(sources))
            .values(state=to, updated_at=now, **values)
        )
        if (await connection.execute(statement)).rowcount:
            moved.append(key)
    return moved


async def remove(connection: AsyncConnection, environment_id: int) -> bool:
    """Delete an environment that is stopped, with its deployments; its jobs stay. False if it is not stopped."""
    stopped = select(environment.c.id).where(environment.c.id == environment_id, environment.c.state == STOPPED)
    if (await connection.execute(stopped.with_for_update())).first() is None:
        return False
    await connection.execute(update(job).where(job.c.environment_id == environment_id).values(environment_id=None))
    await connection.execute(delete(deployment).where(deployment.c.environment_id == environment_id))
    await connection.execute(delete(environment).where(environment.c.id == environment_id))
    return True
