"""Refs that move, from the note about it to their pipelines: by a push over git's protocol, or by our own hand.

What is about to happen is written down before git runs. If we die after git has moved a ref, the next start finds the
note and makes the pipeline; the pusher never had an answer then, and the ref never lacks its pipeline for long.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import suppress
from datetime import timedelta
from typing import Final

import structlog

from application.access import ProjectAccess
from application.pushes.pushed_pipelines import finish
from application.pushes.ref_updates import Door, forbids_force, require_updates
from application.services import Services
from domain.errors import Forbidden, Invalid, NotFound, PerdureError
from domain.size_limits import of_installation
from git.repository import Repository
from git.transport.push import RefUpdate, applied, read_push, refused, unpack_failed, with_message
from git.transport.smart_http import Service, serve
from git.turns import PUSHES, turn_of
from git.writing.ref_transaction import move_refs
from models.repositories.pipelines import pushes
from models.repositories.projects import projects
from models.rows.outbox import PushRow
from models.rows.projects import ProjectRow

_ABANDONED: Final = timedelta(minutes=2)

_NO_FORCE: Final = {
    "GIT_CONFIG_COUNT": "1",
    "GIT_CONFIG_KEY_0": "receive.denyNonFastForwards",
    "GIT_CONFIG_VALUE_0": "true",
}
"""For a push to a branch that is protected from losing commits: git sees best whether it would."""

log = structlog.get_logger()

Moving = Callable[[], Awaitable[Sequence[RefUpdate]]]
"""Moves refs, durably; gives back those that did move."""


async def receive(
    services: Services, project: ProjectAccess, repository: Repository, body: AsyncIterator[bytes], key: str
) -> bytes:
    """Let git take a push; give back its answer with a word on the pipelines that were made.

    `key` is whose share of the pushes it takes. What the rules of the refs forbid is told as git itself would tell it,
    and then no ref of the push moves. So is what goes wrong: git shows its user nothing of what HTTP says here.
    """
    try:
        async with turn_of(PUSHES, key, str(repository.path)):
            return await _received(services, project, repository, body)
    except PerdureError as error:
        log.warning("a push was refused", project=project.row.id, error=str(error))
        async for _ in body:
            """A client that still sends would not read the answer."""
        return unpack_failed(str(error))


async def _received(
    services: Services, project: ProjectAccess, repository: Repository, body: AsyncIterator[bytes]
) -> bytes:
    push = await read_push(body)
    if not push.commands:
        return await _collect(serve(repository, Service.RECEIVE_PACK, push.body))
    try:
        await require_updates(project, repository, push.commands, Door.PUSH)
    except (Forbidden, Invalid) as error:
        async for _ in push.body:
            """A client that still sends would not read the answer."""
        return refused(push, str(error))
    size = services.settings.sizes.push_bytes
    limit = of_installation("PERDURE_PUSH_BYTES", size) if size else None
    environment = _NO_FORCE if forbids_force(project, push.commands) else None
    answer = b""

    async def moving() -> Sequence[RefUpdate]:
        nonlocal answer
        stream = serve(repository, Service.RECEIVE_PACK, push.body, environment=environment, limit=limit)
        answer = await _collect(stream)
        moved = await applied(repository, push.commands, answer)
        await repository.harden([command.ref for command in moved])
        return moved

    lines = await move_and_note(services, project, repository, push.commands, push.options, moving)
    return with_message(answer, "\n".join(lines)) if lines else answer


async def update_refs(
    services: Services,
    access: ProjectAccess,
    repository: Repository,
    updates: Sequence[RefUpdate],
    options: Sequence[str] = (),
    door: Door = Door.API,
) -> None:
    """Move refs in the name of the caller, all or none, with all that a push of them brings: pipelines, environments.

    Raises `Forbidden` when the rules of the refs forbid it, `Refused` when one is not at its `old` any more,
    `Unavailable`. A pipeline that cannot be made now is made later and is no error here.
    """
    await require_updates(access, repository, updates, door)
    await move_permitted(services, access, repository, updates, options)


async def move_permitted(
    services: Services,
    access: ProjectAccess,
    repository: Repository,
    updates: Sequence[RefUpdate],
    options: Sequence[str] = (),
) -> None:
    """The same for updates of which the caller of this function knows that they are permitted, as those of merges."""

    async def moving() -> Sequence[RefUpdate]:
        await move_refs(repository, updates)
        return updates

    await move_and_note(services, access, repository, updates, options, moving)


async def move_and_note(
    services: Services,
    access: ProjectAccess,
    repository: Repository,
    updates: Sequence[RefUpdate],
    options: Sequence[str],
    moving: Moving,
) -> list[str]:
    """The one way in which refs move: note, then git, then pipelines. Gives back what the pusher shall read.

    `moving` may move what the caller alone would not be permitted to; whoever hands it in has asked.
    """
    noted = [{"old": update.old, "new": update.new, "ref": update.ref} for update in updates]
    async with services.database.write() as connection:
        push_id = await pushes.note(connection, access.row.id, access.caller.user_id, noted, options, services.clock())
    work = asyncio.create_task(_carry_out(services, access.row, repository, push_id, updates, moving))
    return await asyncio.shield(work)  # a caller that goes away does not stop half of it


async def _carry_out(
    services: Services,
    project: ProjectRow,
    repository: Repository,
    push_id: int,
    updates: Sequence[RefUpdate],
    moving: Moving,
) -> list[str]:
    try:
        moved = await moving()
    except PerdureError:
        await _forget_unless_moved(services, repository, push_id, updates)
        raise
    try:
        return await finish(services, project, repository, push_id, moved)
    except PerdureError as error:
        log.warning("the pipelines of a push are made later", push=push_id, project=project.id, error=str(error))
        return ["", f"The pipelines of this push are made later: {error}", ""]


async def _forget_unless_moved(
    services: Services, repository: Repository, push_id: int, updates: Sequence[RefUpdate]
) -> None:
    """Close the note of a push that failed: a repetition of it must not be found twice. git has ended by now."""
    with suppress(PerdureError):
        if not await applied(repository, updates):
            async with services.database.write() as connection:
                await pushes.take(connection, push_id, services.clock())


async def _collect(stream: AsyncIterator[bytes]) -> bytes:
    return b"".join([chunk async for chunk in stream])


async def finish_abandoned(services: Services, *, all_of_them: bool = False) -> int:
    """Make the pipelines of pushes whose process died between git and SQL; give back how many pushes there were."""
    before = services.clock() - (timedelta(0) if all_of_them else _ABANDONED)
    async with services.database.read() as connection:
        rows = await pushes.open_since(connection, before)
    for row in rows:
        try:
            await _finish_one(services, row)
        except PerdureError as error:
            log.warning("an interrupted push cannot be finished yet", push=row.id, error=str(error))
    return len(rows)


async def _finish_one(services: Services, row: PushRow) -> None:
    async with services.database.read() as connection:
        project = await projects.find(connection, row.project_id)
    if project is None:
        raise NotFound(f"Project {row.project_id} of push {row.id} does not exist.")
    repository = services.repositories.get(project.id)
    updates = [RefUpdate(update["old"], update["new"], update["ref"]) for update in row.updates]
    moved = await applied(repository, updates)
    log.warning("an interrupted push is finished", push=row.id, moved=[update.ref for update in moved])
    await finish(services, project, repository, row.id, moved)


async def sweep_repositories(services: Services) -> None:
    """Remove what a killed git left behind: a lock on a ref would refuse every further push to it."""
    async with services.database.read() as connection:
        known = await projects.everything(connection)
    for project in known:
        with suppress(NotFound):
            await services.repositories.get(project.id).sweep()
