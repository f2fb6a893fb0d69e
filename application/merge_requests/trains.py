"""Carrying out what `domain.merge_requests.merge_train` decides: each step is one transaction on a car as it was seen.

Nothing is remembered between two rounds but what is in SQL and in git, so that a process which is killed anywhere is
followed by one that goes on: a commit that no car names harms nobody, a car without pipeline is built anew.
"""

from dataclasses import replace
from datetime import datetime
from typing import Final

import structlog
from sqlalchemy.ext.asyncio import AsyncConnection

from application.merge_requests import noticing
from application.merge_requests.context import MergeContext, surroundings_of
from application.merge_requests.merging import MadeMerge, made_merge, merger, move_target
from application.merge_requests.pipelines import PreparedPipeline, Trial, prepared
from application.merge_requests.standing import assess
from application.merge_requests.telling import tell
from application.merge_requests.wishes import MergeOptions
from application.services import Services
from domain.errors import Forbidden, NotFound, Refused, Unauthenticated, Unmergeable
from domain.merge_requests.merge_request import CONFLICTS, Blocker, EventType, State, blockers, is_draft
from domain.merge_requests.merge_train import Build, Car, CarStatus, Drop, Merge, Outdate, Step, Train, next_steps
from git.reading.revision import commit_named
from models.notifications import OUTBOX
from models.repositories.accounts import accounts
from models.repositories.merge_requests import merge_requests, trains
from models.repositories.merge_requests.trains import WaitingCarRow
from models.repositories.projects import projects
from models.rows.merge_requests import TrainCarRow
from models.rows.projects import ProjectRow

_MAX_ROUNDS: Final = 100
"""Rounds without a pause: more than a train of full length needs."""
_NO_PIPELINE: Final = "no job is for pipelines of merge requests, or whoever put it on may run none"

log = structlog.get_logger()


async def advance_all(services: Services) -> int:
    """Do what there is to do for every train; give back how many steps that were."""
    async with services.database.read() as connection:
        rows = await trains.trains(connection)
    return sum([await advance(services, row.project_id, row.target_branch) for row in rows])


async def advance(services: Services, project_id: int, branch: str) -> int:
    """Do what there is to do for one train until nothing is left; give back how many steps that were."""
    done = 0
    for _ in range(_MAX_ROUNDS):
        train, rows = await _train(services, project_id, branch)
        steps = next_steps(train) if train is not None else ()
        carried_out = [await _carry_out(services, step, rows[step.car]) for step in steps]
        done += sum(carried_out)
        if not any(carried_out):
            break
    return done


async def _train(services: Services, project_id: int, branch: str) -> tuple[Train | None, dict[int, WaitingCarRow]]:
    """A train as it stands, with the rows of its cars by id; None while its branch does not exist."""
    async with services.database.read() as connection:
        rows = await trains.cars(connection, project_id, branch)
        project = await projects.find(connection, project_id)
    if not rows or project is None:
        return None, {}
    # After the rows: a head that is newer than they are makes a car stale at most, never wrong.
    target = await commit_named(services.repositories.get(project_id), f"refs/heads/{branch}")
    if target is None:
        return None, {}
    return Train(target, [_car(row, project) for row in rows]), {row.id: row for row in rows}


def _car(row: WaitingCarRow, project: ProjectRow) -> Car:
    return Car(
        id=row.id,
        base=row.base_sha,
        sha=row.sha,
        pipeline=row.pipeline_status or "",
        refusal=_refusal(row, project),
        merging=row.request_state == State.LOCKED,
    )


def _refusal(row: WaitingCarRow, project: ProjectRow) -> str:
    if not project.merge_trains_enabled:
        return "the project has no merge trains any more"
    if row.request_state not in {State.OPENED, State.LOCKED}:
        return f"the merge request is {row.request_state}"
    if row.request_target != row.target_branch:
        return "its target branch was changed"
    if is_draft(row.request_title):
        return "it was marked as a draft"
    return "new commits were pushed to the source branch" if row.head_sha not in {"", row.request_head} else ""


async def _carry_out(services: Services, step: Step, row: TrainCarRow) -> bool:
    """Whether the step was done; one that was not is decided anew."""
    here = await surroundings_of(services, row.merge_request_id)
    if here is None:
        return False
    match step:
        case Drop(reason=reason):
            return await drop(services, here, row, reason)
        case Outdate():
            return await _outdate(services, row)
        case Build(base=base):
            return await _build(services, here, row, base)
        case Merge(base=base, sha=sha):
            return await _merge(services, here, row, base, sha)


async def drop(services: Services, here: MergeContext, row: TrainCarRow, reason: str) -> bool:
    """Take a car off its train, as it was seen; its merge request tells why."""
    now = services.clock()
    async with services.database.write() as connection:
        if not await trains.change(connection, row, now, status=CarStatus.STALE):
            return False
        await _take_off(connection, row, now, reason)
    await services.notifications.notify(OUTBOX)
    await tell(services, row.merge_request_id, row.project_id)
    log.info("a merge request was taken off its train", merge_request=here.reference, why=reason)
    return True


async def _take_off(connection: AsyncConnection, row: TrainCarRow, now: datetime, reason: str) -> None:
    await trains.leave(connection, row.merge_request_id, now, reason)
    if (known := await merge_requests.get(connection, row.merge_request_id)) is not None:
        why = f"it was removed from the merge train: {reason}"
        await noticing.auto_merge_failed(connection, replace(known, auto_merge_user_id=row.user_id), why, None, now)
    error = f"Removed from the merge train: {reason}."
    await merge_requests.change(connection, row.merge_request_id, now, merge_error=error)


async def _outdate(services: Services, row: TrainCarRow) -> bool:
    now = services.clock()
    values = {"status": CarStatus.STALE, "sha": "", "base_sha": "", "pipeline_id": None}
    async with services.database.write() as connection:
        if not await trains.change(connection, row, now, **values):
            return False
        await trains.cancel(connection, row, now, "the merge train has changed before it")
    await services.notifications.notify(OUTBOX)
    await tell(services, row.merge_request_id, row.project_id)
    return True


async def _build(services: Services, here: MergeContext, row: TrainCarRow, base: str) -> bool:
    """Merge a car upon `base`, and have that tested."""
    async with services.database.read() as connection:
        user = await accounts.get(connection, row.user_id)
    try:
        access = await merger(services, here, row.user_id)
        made = await made_merge(services, here, base, user, MergeOptions(**row.options), may_rebase=True)
    except (Forbidden, NotFound, Unauthenticated):
        return await drop(services, here, row, f"{user.username} may not merge into {row.target_branch}")
    except Refused as error:
        return await drop(services, here, row, str(error))
    if not made.sha:
        return await drop(services, here, row, f"{CONFLICTS} ({', '.join(made.conflicts)})")
    if here.target.approvals_required or here.target.only_merge_if_resolved:
        found = blockers((await assess(services, here)).standing)
        if Blocker.NOT_APPROVED in found:
            return await drop(services, here, row, "it is not approved any more")
        if Blocker.NOT_RESOLVED in found:
            return await drop(services, here, row, "not all of its threads are resolved any more")
    trial = Trial(EventType.TRAIN, made.sha, base)
    ready = await prepared(services, here, access.caller.user_id, trial=trial, in_target=True)
    return await _save(services, here, row, made, base, ready)


async def _save(
    services: Services, here: MergeContext, row: TrainCarRow, made: MadeMerge, base: str, ready: PreparedPipeline | None
) -> bool:
    """Write car and pipeline together, and cancel the earlier pipeline."""
    if ready is None:
        return await drop(services, here, row, _NO_PIPELINE)
    now, seen = services.clock(), here.row
    values = {"base_sha": base, "sha": made.sha, "head_sha": seen.head_sha, "pipeline_id": None}
    commits = {"merge_commit_sha": made.merge_commit_sha, "squash_commit_sha": made.squash_commit_sha}
    async with services.database.write() as connection:
        request = await merge_requests.lock(connection, seen.id)
        if request is None or request.state != State.OPENED or request.head_sha != seen.head_sha:
            return False
        if not await trains.change(connection, row, now, status=CarStatus.FRESH, **values, **commits):
            return False
        await trains.cancel(connection, row, now, "the merge train has changed before it")
        pipeline_id = await ready.made.save(services, connection)
        if pipeline_id is None:
            await _take_off(connection, row, now, _NO_PIPELINE)
        else:
            await trains.give_pipeline(connection, row.id, pipeline_id)
            await here.repository.place(here.ref(EventType.TRAIN), made.sha)
    if pipeline_id is not None:
        await here.repository.keep(pipeline_id, made.sha)
    await services.notifications.notify(OUTBOX)
    await tell(services, row.merge_request_id, row.project_id)
    log.info("a car of a merge train is built", merge_request=here.reference, upon=base[:8], pipeline=pipeline_id)
    return True


async def _merge(services: Services, here: MergeContext, row: TrainCarRow, base: str, sha: str) -> bool:
    """Let the target branch become the commit that was tested."""
    made = MadeMerge(sha, row.merge_commit_sha, row.squash_commit_sha)
    try:
        access = await merger(services, here, row.user_id)
    except (Forbidden, NotFound, Unauthenticated):
        return await drop(services, here, row, f"whoever put it on may not merge into {row.target_branch}")
    try:
        await move_target(services, here, access, base, made, MergeOptions(**row.options), car=row)
    except Unmergeable as error:
        log.info("a car of a merge train waits", merge_request=here.reference, why=str(error))
        return False
    log.info("a merge train has merged", merge_request=here.reference, sha=sha)
    return True
