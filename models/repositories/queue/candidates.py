"""Registered runners as matching sees them, found by what they show."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from sqlalchemy import ARRAY, Select, String, any_, bindparam, or_, select
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.runners.matching import Candidate, RunnerType
from models.columns import Record, table_of
from models.repositories import database_time
from models.tables.runners import Runner, RunnerProject

runner = table_of(Runner)
runner_project = table_of(RunnerProject)

_COLUMNS: Final = (
    runner.c.id,
    runner.c.token_hash,
    runner.c.previous_token_hash,
    runner.c.token_expires_at,
    runner.c.runner_type,
    runner.c.organisation_id,
    runner.c.namespace_id,
    runner.c.description,
    runner.c.tags,
    runner.c.run_untagged,
    runner.c.ref_protected,
    runner.c.as_server,
    runner.c.paused,
    runner.c.maximum_timeout,
)
"""What matching and a job's payload use: not what changes with each contact."""
_LINKS: Final = select(runner_project)
_LINKS_OF: Final = _LINKS.where(runner_project.c.runner_id.in_(bindparam("b_runners", expanding=True)))


@dataclass(frozen=True, slots=True)
class KnownRunner:
    """A runner's row (`_COLUMNS`, then `now`) and what matching sees of it; it was found by `token_hash`."""

    token_hash: str
    row: Record
    candidate: Candidate


@cache
def _by_tokens(dialect: str) -> Select[Any]:
    hashes: Any
    if dialect == "sqlite":
        hashes = bindparam("b_hashes", expanding=True)
        shown = or_(runner.c.token_hash.in_(hashes), runner.c.previous_token_hash.in_(hashes))
    else:  # one parameter and one prepared statement, however many runners wait
        hashes = any_(bindparam("b_hashes", type_=ARRAY(String)))
        shown = or_(runner.c.token_hash == hashes, runner.c.previous_token_hash == hashes)
    return select(*_COLUMNS, database_time.seconds_of(dialect).label("now")).where(shown)


async def by_tokens(
    connection: AsyncConnection, hashes: Collection[str], known: Mapping[str, KnownRunner | None]
) -> dict[str, KnownRunner]:
    """The runners behind these token hashes; those that nobody has, or that have expired, are left out.

    One that is in `known` and has not changed is given back as it is there: that takes a third of the time.
    """
    rows = (await connection.execute(_by_tokens(connection.dialect.name), {"b_hashes": list(hashes)})).all()
    good = [row for row in rows if row.token_expires_at is None or row.token_expires_at.timestamp() > row.now]
    linked = [row.id for row in good if row.runner_type == RunnerType.PROJECT]
    projects = _by_runner((await connection.execute(_LINKS_OF, {"b_runners": linked})).all() if linked else ())
    wanted = set(hashes)
    return {
        token_hash: _as_known(known.get(token_hash), token_hash, row, projects.get(row.id, set()))
        for row in good
        for token_hash in (row.token_hash, row.previous_token_hash)
        if token_hash in wanted
    }


def _as_known(before: KnownRunner | None, token_hash: str, row: Record, projects: set[int]) -> KnownRunner:
    if before is not None and before.row[:-1] == row[:-1] and before.candidate.projects == projects:
        return before
    return KnownRunner(token_hash, row, candidate(row, projects))


async def linked_projects(connection: AsyncConnection) -> Mapping[int, set[int]]:
    """The projects that each project runner is linked to, by runner id."""
    return _by_runner((await connection.execute(_LINKS)).all())


def _by_runner(links: Iterable[Record]) -> Mapping[int, set[int]]:
    projects: defaultdict[int, set[int]] = defaultdict(set)
    for link in links:
        projects[link.runner_id].add(link.project_id)
    return projects


def candidate(row: Record, projects: Iterable[int], *, online: bool = True) -> Candidate:
    """A runner's row with the projects that it is linked to."""
    return Candidate(
        runner_type=RunnerType(row.runner_type),
        organisation_id=row.organisation_id,
        namespace_id=row.namespace_id,
        projects=frozenset(projects),
        tags=frozenset(row.tags),
        run_untagged=row.run_untagged,
        ref_protected=row.ref_protected,
        paused=row.paused,
        online=online,
        as_server=row.as_server,
    )
