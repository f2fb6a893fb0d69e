"""Registered runners as matching sees them, found by what they show."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any, Final

from sqlalchemy import ARRAY, Select, String, any_, bindparam, or_, select
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.runners.matching import Candidate, RunnerType
from models.columns import table_of
from models.repositories import database_time
from models.rows.runners import RunnerProjectRow
from models.tables.runners import Runner, RunnerProject
from models.typed_rows import all_of, reader

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
"""What matching and a job's payload use (`PollingRunner`): not what changes with each contact."""
_LINKS: Final = select(runner_project)
_LINKS_OF: Final = _LINKS.where(runner_project.c.runner_id.in_(bindparam("b_runners", expanding=True)))


@dataclass(frozen=True, slots=True)
class MatchedRunner:
    """What matching uses of a runner."""

    id: int
    runner_type: str
    organisation_id: int | None
    namespace_id: int | None
    tags: Sequence[str]
    run_untagged: bool
    ref_protected: bool
    as_server: bool
    paused: bool


@dataclass(frozen=True, slots=True)
class PollingRunner(MatchedRunner):
    """What matching and a job's payload use of a runner, and what its tokens are."""

    token_hash: str
    previous_token_hash: str | None
    token_expires_at: datetime | None
    description: str
    maximum_timeout: int | None


@dataclass(frozen=True, slots=True)
class KnownRunner:
    """A runner and what matching sees of it; it was found by `token_hash`."""

    token_hash: str
    row: PollingRunner
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
    found = await connection.execute(_by_tokens(connection.dialect.name), {"b_hashes": list(hashes)})
    read = reader(PollingRunner, found)
    good = [read(row) for row in found if row.token_expires_at is None or row.token_expires_at.timestamp() > row.now]
    linked = [row.id for row in good if row.runner_type == RunnerType.PROJECT]
    projects = await _projects_of(connection, linked) if linked else {}
    wanted = set(hashes)
    return {
        token_hash: _as_known(known.get(token_hash), token_hash, row, projects.get(row.id, set()))
        for row in good
        for token_hash in (row.token_hash, row.previous_token_hash)
        if token_hash in wanted
    }


def _as_known(before: KnownRunner | None, token_hash: str, row: PollingRunner, projects: set[int]) -> KnownRunner:
    if before is not None and before.row == row and before.candidate.projects == projects:
        return before
    return KnownRunner(token_hash, row, candidate(row, projects))


async def linked_projects(connection: AsyncConnection) -> Mapping[int, set[int]]:
    """The projects that each project runner is linked to, by runner id."""
    return _by_runner(all_of(RunnerProjectRow, await connection.execute(_LINKS)))


async def _projects_of(connection: AsyncConnection, runner_ids: Sequence[int]) -> Mapping[int, set[int]]:
    """The same, of these."""
    return _by_runner(all_of(RunnerProjectRow, await connection.execute(_LINKS_OF, {"b_runners": runner_ids})))


def _by_runner(links: Iterable[RunnerProjectRow]) -> Mapping[int, set[int]]:
    projects: defaultdict[int, set[int]] = defaultdict(set)
    for link in links:
        projects[link.runner_id].add(link.project_id)
    return projects


def candidate(row: MatchedRunner, projects: Iterable[int], *, online: bool = True) -> Candidate:
    """A runner with the projects that it is linked to."""
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
