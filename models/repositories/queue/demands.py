"""What jobs that wait have in common: one row for each, so that the queue is looked through by row, not by job."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

import orjson
from sqlalchemy import Executable, bindparam, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.runners.matching import Demand
from models.columns import padded, table_of
from models.repositories.accounts import accounts
from models.repositories.namespaces.namespaces import namespace, trail_of
from models.rows.queue import QueueDemandRow
from models.tables.projects import Project
from models.tables.queue import QueueDemand, QueueDemandTag
from models.typed_rows import all_of

demand = table_of(QueueDemand)
demand_tag = table_of(QueueDemandTag)
project = table_of(Project)

_KNOWN: Final = select(demand.c.tag_key, demand.c.id).where(
    demand.c.project_id == bindparam("b_project"),
    demand.c.ref_protected == bindparam("b_protected"),
    demand.c.tag_key.in_(bindparam("b_keys", expanding=True)),
)
_UNIQUE: Final = ("project_id", "tag_key", "ref_protected")
_MAKE: Final[Mapping[str, Executable]] = {
    "sqlite": sqlite.insert(demand).on_conflict_do_nothing(index_elements=_UNIQUE),
    "postgresql": postgresql.insert(demand).on_conflict_do_nothing(index_elements=_UNIQUE),
}
_TAG: Final[Mapping[str, Executable]] = {
    "sqlite": sqlite.insert(demand_tag).on_conflict_do_nothing(),
    "postgresql": postgresql.insert(demand_tag).on_conflict_do_nothing(),
}
_READ: Final = (
    select(
        demand,
        project.c.shared_runners_enabled,
        project.c.group_runners_enabled,
        project.c.may_run_as_server,
        project.c.full_path,
        project.c.archived,
        namespace.c.trail,
        accounts.OTHERS.label("others"),
    )
    .join(project, project.c.id == demand.c.project_id)
    .join(namespace, namespace.c.id == project.c.namespace_id)
    .where(demand.c.id.in_(bindparam("b_demands", expanding=True)))
)


class Owner(Protocol):
    """The project whose jobs wait."""

    @property
    def id(self) -> int:
        """Its id."""

    @property
    def organisation_id(self) -> int:
        """That of its organisation."""


def tag_key(tags: Iterable[str]) -> str:
    """Tags in a form that is equal when the tags are."""
    return orjson.dumps(sorted(set(tags))).decode()


async def ensure(
    connection: AsyncConnection, owner: Owner, tag_lists: Iterable[Sequence[str]], *, protected: bool
) -> dict[str, int]:
    """The demand of each list of tags, by `tag_key`; those that are new are made."""
    wanted = {tag_key(tags): sorted(set(tags)) for tags in tag_lists}
    known = await _known(connection, owner.id, wanted, protected=protected)
    # In the order of the keys, so that two pipelines that make the same demands never wait for each other.
    missing = sorted(set(wanted) - set(known))
    if not missing:
        return known
    same: dict[str, Any] = {
        "project_id": owner.id,
        "organisation_id": owner.organisation_id,
        "ref_protected": protected,
    }
    rows = [{**same, "tag_key": key, "tagged": bool(wanted[key])} for key in missing]
    await connection.execute(_MAKE[connection.dialect.name], rows)
    known = await _known(connection, owner.id, wanted, protected=protected)
    tags = [{"demand_id": known[key], "tag": tag} for key in missing for tag in wanted[key]]
    if tags:
        await connection.execute(_TAG[connection.dialect.name], tags)
    return known


async def _known(
    connection: AsyncConnection, project_id: int, keys: Iterable[str], *, protected: bool
) -> dict[str, int]:
    values = {"b_project": project_id, "b_protected": protected, "b_keys": list(keys)}
    return {row.tag_key: row.id for row in (await connection.execute(_KNOWN, values)).all()}


@dataclass(frozen=True, slots=True)
class _PlacedDemand(QueueDemandRow):
    """A demand with what its project lets runners do; `others` says whether the installation has other accounts."""

    shared_runners_enabled: bool
    group_runners_enabled: bool
    may_run_as_server: bool
    full_path: str
    archived: bool
    trail: str
    others: bool


async def read(connection: AsyncConnection, ids: Iterable[int]) -> dict[int, Demand]:
    """Demands by id."""
    rows = all_of(_PlacedDemand, await connection.execute(_READ, {"b_demands": padded(tuple(ids))}))
    return {
        row.id: Demand(
            project_id=row.project_id,
            organisation_id=row.organisation_id,
            groups=frozenset(trail_of(row.trail)),
            tags=frozenset(orjson.loads(row.tag_key)),
            protected=row.ref_protected,
            instance_runners=row.shared_runners_enabled,
            group_runners=row.group_runners_enabled,
            may_run_as_server=row.may_run_as_server,
            others=row.others,
            project_path=row.full_path,
            archived=row.archived,
        )
        for row in rows
    }
