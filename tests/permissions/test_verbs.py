"""The rules of protected refs and environments are asked at every verb: verbs.txt is walked, and it is complete."""

import hashlib
import sqlite3
from collections.abc import AsyncIterator, Iterator
from contextlib import closing
from dataclasses import replace

import pytest
from sqlalchemy import Update, delete, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from auth.job_routes import scope_for
from domain.environments.protected_environments import ADMINISTRATORS
from models.columns import table_of
from models.repositories.environments import protected_environments
from models.repositories.owner import Owner
from models.repositories.projects import protected_refs
from models.tables.environments import Environment
from models.tables.pipelines import Job
from models.tables.protected_environments import DeployAccessLevel, ProtectedEnvironment
from models.tables.protected_refs import ProtectedBranch, ProtectedTag
from models.tables.schedules import PipelineSchedule
from tests.permissions.calls import call_of
from tests.permissions.fuzz.run import KEPT_OF_PAGES
from tests.permissions.place import EVERYBODY, Place, open_place, refs_of
from tests.permissions.routes import every_route
from tests.permissions.verbs import WHOLE, Protection, Verb, call_for, is_below, others, verbs

PLACES = ("live", "old", "trial", "more", "another")
"""Environments that are there, or that a call makes."""
BY_JOB = "trigger/pipeline"
"""Doors that only a job's token opens here."""
LEVELS = {"developer": 40, "maintainer": 50}
"""By the role that may without a rule: the level of a rule that does not let it in."""
NEXT = {"developer": "maintainer", "maintainer": "owner"}
BOUND = (
    *("pipeline", "job", "stage", "environment", "deployment", "release", "pipeline_schedule"),
    *("schedule_variable", "protected_branch", "protected_tag", "protected_environment", "deploy_access_level"),
    *("resource_group", "artifact", "commit_status"),
)
"""Tables of what is bound to a ref or an environment."""

CONTACT = {"lease", *KEPT_OF_PAGES}
"""Whatever a job's token is shown for, its job was heard of; and what pages keep of what they rendered is no secret."""
SPARED = {"delete merged": 202, "push": 200}
"""Doors that answer well all the same: they leave what is protected out, or say of each ref whether it has moved."""

ROWS = verbs()
job, environment, schedule = table_of(Job), table_of(Environment), table_of(PipelineSchedule)


@pytest.fixture(scope="module")
async def place(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Place]:
    """The installation; a developer and a maintainer have a running job there, on a branch that nobody protects."""
    async with open_place(tmp_path_factory.mktemp("place")) as opened:
        for who in ("developer", "maintainer"):
            opened.tokens[who] = await _job_token(opened, who)
        opened.keep()
        yield opened


async def _job_token(place: Place, who: str) -> str:
    """The token of a job of somebody that runs."""
    world, base = place.site.world, f"/api/v4/projects/{place.objects['own']['project']}"
    async with place.site.client(place.people[who]) as client:
        made = (await client.post(f"{base}/pipeline", json={"ref": "older"})).json()
    await world.settle(made["id"])
    while True:
        found = await world.job()
        if found["job_info"]["pipeline_id"] == made["id"]:
            return str(found["token"])


async def _prepare(place: Place, verb: Verb, who: str, *, protected: bool) -> None:
    """Everything is put back; what the row asks is protected from whoever may without a rule."""
    await place.put_back()
    async with place.site.services.database.write() as connection:
        if not verb.noun.startswith("protected"):
            for table in (ProtectedBranch, ProtectedTag, DeployAccessLevel, ProtectedEnvironment):
                await connection.execute(delete(table_of(table)))
        for statement in _needed(place, verb, who):
            await connection.execute(statement)
        if protected:
            await _protect(connection, place, verb)


def _needed(place: Place, verb: Verb, who: str) -> Iterator[Update]:
    """What the call is about has to be so, or nobody may do it."""
    project, person = int(place.objects["own"]["project"]), place.people[who]
    mine = update(job).where(job.c.id == int(place.objects["own"]["job_id"]))
    if verb.noun.startswith("schedule") and verb.verb != "take over" and person is not None:
        yield update(schedule).values(owner_id=person.id)  # it is its owner who may change it
    if verb.asked is Protection.ENVIRONMENT and verb.noun in {"job", "artifacts"}:
        live = select(environment.c.id).where(environment.c.name == "live", environment.c.project_id == project)
        yield mine.values(environment_id=live.scalar_subquery(), environment_action="start")
    if (verb.verb, verb.noun) == ("retry", "pipeline"):
        yield mine.values(status="failed")


async def _protect(connection: AsyncConnection, place: Place, verb: Verb) -> None:
    """Rules for everything of the kind that let in whoever is next above."""
    project, now, level = int(place.objects["own"]["project"]), place.site.services.clock(), LEVELS[verb.least]
    match verb.asked:
        case Protection.BRANCH:
            await protected_refs.protect_branch(
                connection, project, "*", now, push_level=level, merge_level=level, allow_force_push=True
            )
        case Protection.TAG:
            await protected_refs.protect_tag(connection, project, "*", now, create_level=level)
        case Protection.ENVIRONMENT:
            for name in PLACES:
                rule = await protected_environments.add(connection, Owner(project_id=project), name, now)
                of_level = level if level == LEVELS["developer"] else ADMINISTRATORS
                await protected_environments.add_level(connection, rule, access_level=of_level)


def _stored(place: Place, tables: tuple[str, ...] = ()) -> dict[str, str]:
    """A digest of each table, and every ref."""
    settings = place.site.services.settings
    with closing(sqlite3.connect(settings.home / "perdure.db")) as connection:
        names = [str(row[0]) for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        rows = {name: connection.execute(f'SELECT * FROM "{name}"').fetchall() for name in tables or names}
    texts = {name: repr(sorted(map(repr, found))).encode() for name, found in rows.items() if name not in CONTACT}
    digests = {name: hashlib.sha256(text).hexdigest() for name, text in texts.items()}
    return digests | refs_of(settings.repository_root)


async def _tried(place: Place, verb: Verb, who: str, *, protected: bool, by_job: bool) -> tuple[int, list[str]]:
    """What somebody gets who tries, and the names of what is stored otherwise afterwards."""
    await _prepare(place, verb, who, protected=protected)
    before, call = _stored(place), call_for(verb, place.objects["own"]["sha"])
    if by_job:
        call = replace(call, headers={**call.headers, "job-token": place.tokens[who]})
    status = await place.status_now(call, "anonymous" if by_job else who, "own")
    after = _stored(place)
    return status, sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))


def _doors(verb: Verb) -> list[bool]:
    """By a person, by a job's token, or both ways."""
    of_people = [] if verb.route.endswith(BY_JOB) else [False]
    of_jobs = verb.route.endswith(BY_JOB) or scope_for(verb.method, call_for(verb, "").path.partition("?")[0])
    return [*of_people, *([True] if of_jobs else [])]


def test_every_route_that_writes_is_in_the_table_or_among_the_others(place: Place) -> None:
    known = {(verb.method, verb.route) for verb in ROWS}
    beginnings = [path for _, path in others()]
    writing = {(method, route) for method, route in every_route(place.site.services) if method not in {"GET", "HEAD"}}
    assert known <= writing, "there is no such route any more"
    left = writing - known
    assert [one for one in sorted(left) if not any(is_below(one[1], path) for path in beginnings)] == []
    assert [path for path in beginnings if not any(is_below(route, path) for _, route in left)] == []


@pytest.mark.slow  # some four calls for each row
@pytest.mark.parametrize("noun", sorted({verb.noun for verb in ROWS}))
async def test_whoever_a_rule_does_not_let_in_changes_nothing_and_others_do(place: Place, noun: str) -> None:
    wrong: list[str] = []
    for verb in [row for row in ROWS if row.noun == noun]:
        for by_job in _doors(verb):
            found = await _faults(place, verb, by_job=by_job)
            wrong += [f"{verb}{' by a job' if by_job else ''}: {fault}" for fault in found]
    assert not wrong, "\n" + "\n".join(wrong)


async def _faults(place: Place, verb: Verb, *, by_job: bool) -> list[str]:
    """What is not as the row says."""
    below, least, above = _below(verb.least), verb.least, _above(verb)
    asked = verb.asked is not Protection.NOTHING
    found = []
    if _can(place, least, by_job):
        status, changed = await _tried(place, verb, least, protected=False, by_job=by_job)
        if not _is_good(status) or not (changed or status == 409):
            found.append(f"{least} got {status}, changed {changed}")
    for who, protected in ((below, False), (least, True)) if asked else ((below, False),):
        if not _can(place, who, by_job):
            continue
        status, changed = await _tried(place, verb, who, protected=protected, by_job=by_job)
        spared = protected and SPARED.get(verb.verb) == status
        if (status < 400 and not spared) or changed:
            found.append(f"{who} got {status}, changed {changed}" + " of what is protected" * protected)
    if asked and _can(place, above, by_job):
        status, changed = await _tried(place, verb, above, protected=True, by_job=by_job)
        if not _is_good(status):
            found.append(f"{above}, whom the rule lets in, got {status}")
    return found


def _can(place: Place, who: str, by_job: bool) -> bool:
    return not by_job or who in place.tokens


def _is_good(status: int) -> bool:
    """Whether it was done, or there was nothing to do."""
    return 200 <= status < 400 or status == 409


def _below(role: str) -> str:
    return EVERYBODY[EVERYBODY.index(role) - 1]


def _above(verb: Verb) -> str:
    if verb.asked is Protection.ENVIRONMENT and verb.least == "maintainer":
        return "admin"  # there is no level between
    return NEXT.get(verb.least, "admin")


@pytest.mark.slow  # some hundred and fifty calls
async def test_the_others_change_no_ref_and_nothing_that_is_bound_to_one(place: Place) -> None:
    known = {(verb.method, verb.route) for verb in ROWS}
    whole = [path for why, path in others() if why in WHOLE]
    wrong: list[str] = []
    for method, route in every_route(place.site.services):
        if method in {"GET", "HEAD"} or (method, route) in known or any(is_below(route, path) for path in whole):
            continue
        await place.put_back()
        before = _stored(place, BOUND)
        status = await place.status_now(call_of(method, route), "admin", "own")
        if (after := _stored(place, BOUND)) != before:
            wrong.append(f"{method} {route} ({status}): {sorted(k for k in after if before.get(k) != after[k])}")
    assert not wrong, "\n" + "\n".join(wrong)
