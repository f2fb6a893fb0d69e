"""Who may deploy where: the rules of `domain.environments.protected_environments`, held against somebody.

Everybody who lets a job run, stops an environment or takes a deployment in asks here.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import bindparam, or_, select
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.environments.protected_environments import Deployer, DeployLevel, EnvironmentRule, refusal
from domain.variables.environment_variables import guessed_tier
from models.columns import table_of
from models.repositories.accounts import members
from models.repositories.environments import protected_environments
from models.repositories.environments.protected_environments import rule
from models.repositories.namespaces.group_ancestry import lies_in, namespace
from models.repositories.pipelines.job_rows import job
from models.rows.environments import EnvironmentRow
from models.rows.protected_environments import DeployAccessLevelRow
from models.tables.accounts import User
from models.tables.environments import Environment
from models.tables.projects import Project
from models.typed_rows import all_of, first_of

environment = table_of(Environment)
project = table_of(Project)
user = table_of(User)


@dataclass(frozen=True, slots=True)
class Target:
    """An environment of a project, which need not be there yet."""

    project_id: int
    name: str
    tier: str


_OF_JOBS: Final = (
    select(
        job.c.id,
        job.c.user_id,
        job.c.project_id,
        environment.c.name,
        environment.c.tier,
        job.c.plan["environment"].label("written"),
    )
    .outerjoin(environment, environment.c.id == job.c.environment_id)
    .where(job.c.id.in_(bindparam("b_jobs", expanding=True)), job.c.environment_action != "")
    .order_by(job.c.id)
)
_RULES: Final = (
    select(rule.c.id, rule.c.name, rule.c.namespace_id)
    .select_from(project.join(namespace, namespace.c.id == project.c.namespace_id))
    .join(rule, or_(rule.c.project_id == project.c.id, lies_in(rule.c.namespace_id)))
    .where(project.c.id == bindparam("b_project"), rule.c.name.in_(bindparam("b_names", expanding=True)))
    .order_by(rule.c.id)
)


@dataclass(frozen=True, slots=True)
class _JobRow:
    """A job that deploys, with its environment, if that is there, and what is `written` of it."""

    id: int
    user_id: int
    project_id: int
    name: str | None
    tier: str | None
    written: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class _RuleRow:
    """A rule, by what it is for: the name of an environment, or that of a tier in a group."""

    id: int
    name: str
    namespace_id: int | None


async def refused_jobs(connection: AsyncConnection, job_ids: Collection[int]) -> list[int]:
    """Those of the jobs whose users may not deploy to their environments."""
    if not job_ids:
        return []
    rows = all_of(_JobRow, await connection.execute(_OF_JOBS, {"b_jobs": sorted(job_ids)}))
    known: dict[tuple[Target, int], str] = {}
    refused: list[int] = []
    for row in rows:
        if (target := _target_of(row)) is None:
            continue
        asked = (target, row.user_id)
        if asked not in known:
            known[asked] = await refusal_of(connection, *asked)
        if known[asked]:
            refused.append(row.id)
    return refused


async def refusal_of_job(connection: AsyncConnection, job_id: int, user_id: int) -> str:
    """Why somebody may not run or end a job, because of its environment; empty if they may."""
    row = first_of(_JobRow, await connection.execute(_OF_JOBS, {"b_jobs": [job_id]}))
    target = None if row is None else _target_of(row)
    return "" if target is None else await refusal_of(connection, target, user_id)


async def refusals_of_jobs(connection: AsyncConnection, job_ids: Collection[int], user_id: int) -> Mapping[int, str]:
    """The same of many jobs, by id, for those that somebody may not run or end."""
    if not job_ids:
        return {}
    rows = all_of(_JobRow, await connection.execute(_OF_JOBS, {"b_jobs": sorted(job_ids)}))
    targets = {row.id: target for row in rows if (target := _target_of(row)) is not None}
    known = {target: await refusal_of(connection, target, user_id) for target in set(targets.values())}
    return {job_id: known[target] for job_id, target in targets.items() if known[target]}


async def refusal_of_environment(connection: AsyncConnection, row: EnvironmentRow, user_id: int) -> str:
    """Why somebody may not deploy to an environment; empty if they may."""
    return await refusal_of(connection, Target(row.project_id, row.name, row.tier), user_id)


async def is_protected(connection: AsyncConnection, target: Target) -> bool:
    """Whether any rule guards an environment."""
    asked = {"b_project": target.project_id, "b_names": [target.name, target.tier]}
    found = all_of(_RuleRow, await connection.execute(_RULES, asked))
    return any(row.name == (target.name if row.namespace_id is None else target.tier) for row in found)


async def refusal_of(connection: AsyncConnection, target: Target, user_id: int) -> str:
    """The same for an environment that need not be there yet."""
    asked = {"b_project": target.project_id, "b_names": [target.name, target.tier]}
    found = all_of(_RuleRow, await connection.execute(_RULES, asked))
    rows = [row for row in found if row.name == (target.name if row.namespace_id is None else target.tier)]
    if not rows:
        return ""
    rules = await _rules(connection, rows)
    return refusal(target.name, rules, await _deployer(connection, target.project_id, user_id, rules))


async def guarded(connection: AsyncConnection, rows: Sequence[EnvironmentRow], user_id: int) -> Mapping[int, str]:
    """Those of the environments of one project that are protected, by id: why somebody may not deploy, empty if so."""
    if not rows:
        return {}
    asked = {
        "b_project": rows[0].project_id,
        "b_names": sorted({word for row in rows for word in (row.name, row.tier)}),
    }
    rules = all_of(_RuleRow, await connection.execute(_RULES, asked))
    names = {one.name for one in rules if one.namespace_id is None}
    tiers = {one.name for one in rules if one.namespace_id is not None}
    protected = [row for row in rows if row.name in names or row.tier in tiers]
    return {row.id: await refusal_of_environment(connection, row, user_id) for row in protected}


def _target_of(row: _JobRow) -> Target | None:
    """Where a job deploys: its environment, or the one that it names where that was deleted; None for no good name."""
    written = row.written or {}
    name = row.name or written.get("name", "")
    if not name:
        return None
    return Target(row.project_id, name, row.tier or written.get("deployment_tier") or guessed_tier(name))


async def _rules(connection: AsyncConnection, rows: Sequence[_RuleRow]) -> list[EnvironmentRule]:
    levels = await protected_environments.levels_of(connection, [row.id for row in rows])
    return [
        EnvironmentRule(tuple(_level(one) for one in levels.get(row.id, ())), holder=row.namespace_id or 0)
        for row in rows
    ]


def _level(row: DeployAccessLevelRow) -> DeployLevel:
    return DeployLevel(row.access_level, row.user_id, row.group_id, inherited=bool(row.group_inheritance_type))


async def _deployer(
    connection: AsyncConnection, project_id: int, user_id: int, rules: Sequence[EnvironmentRule]
) -> Deployer:
    """What rules want to know of somebody."""
    is_admin = (await connection.execute(select(user.c.is_admin).where(user.c.id == user_id))).scalar()
    levels = {
        holder: await members.level_in_group(connection, holder, user_id)
        if holder
        else await members.level_in_project(connection, project_id, user_id)
        for holder in {each.holder for each in rules}
    }
    named = [level for each in rules for level in each.levels if level.group_id is not None]
    above = {level.group_id for level in named if level.inherited and level.group_id is not None}
    return Deployer(
        user_id,
        bool(is_admin),
        levels,
        groups=await members.own_groups(connection, user_id, {level.group_id for level in named}),
        groups_above=frozenset({key for key in above if await members.level_in_group(connection, key, user_id)}),
    )
