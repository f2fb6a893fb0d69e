"""A push from its first byte to its pipelines.

What a push is about to do is written down before git runs. If we die after git has moved a ref, the next start finds
the note and makes the pipeline; the pusher never had an answer then, and the ref never lacks its pipeline for long.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import suppress
from datetime import timedelta
from typing import Any, Final

import structlog
from sqlalchemy.ext.asyncio import AsyncConnection

from api.deps import ProjectAccess
from api.pipeline_creation import prepare, with_commit, with_head
from api.places import places_for
from api.services import Services
from domain.config.plan import Plan
from domain.errors import ConfigInvalid, ConfigMissing, Invalid, NotFound, PerdureError, PipelineFiltered
from domain.places import Place
from domain.skipping import asks_to_skip
from domain.status import Status
from git.push import RefUpdate, applied, read_push, with_message
from git.repository import Repository
from git.smart_http import Service, serve
from models.notifications import OUTBOX
from models.repositories import environment_lifecycle, pipelines, projects, pushes
from models.repositories.pipelines import PipelineRequest

_MOST_PIPELINES: Final = 4
"""So many refs of one push get a pipeline; more are most likely a mirror (GitLab's limit)."""

_ABANDONED: Final = timedelta(minutes=2)

log = structlog.get_logger()


async def receive(
    services: Services, project: ProjectAccess, repository: Repository, body: AsyncIterator[bytes]
) -> bytes:
    """Let git take a push; give back its answer with a word on the pipelines that were made."""
    push = await read_push(body)
    if not push.commands:
        return await _collect(serve(repository, Service.RECEIVE_PACK, push.body))
    async with services.database.write() as connection:
        push_id = await pushes.note(
            connection,
            project.row.id,
            project.caller.user_id,
            [{"old": command.old, "new": command.new, "ref": command.ref} for command in push.commands],
            push.options,
            services.clock(),
        )
    work = asyncio.create_task(_carry_out(services, project, repository, push.body, push.commands, push_id))
    return await asyncio.shield(work)  # a pusher that goes away does not stop half of it


async def _carry_out(
    services: Services,
    project: ProjectAccess,
    repository: Repository,
    body: AsyncIterator[bytes],
    commands: Sequence[RefUpdate],
    push_id: int,
) -> bytes:
    answer = await _collect(serve(repository, Service.RECEIVE_PACK, body))
    moved = await applied(repository, commands, answer)
    await repository.harden([command.ref for command in moved])
    lines = await finish(services, project.row, repository, push_id, moved)
    return with_message(answer, "\n".join(lines)) if lines else answer


async def _collect(stream: AsyncIterator[bytes]) -> bytes:
    return b"".join([chunk async for chunk in stream])


async def finish(
    services: Services, project: Any, repository: Repository, push_id: int, moved: Sequence[RefUpdate]
) -> list[str]:
    """Make the pipelines of the refs that moved, once; give back what the pusher shall read."""
    async with services.database.read() as connection:
        push = await pushes.get(connection, push_id)
    wanted = [update for update in moved if (update.is_branch or update.is_tag) and not update.is_delete]
    if "ci.no_pipeline" in push.options or len(wanted) > _MOST_PIPELINES:
        wanted = []
    made = [await _prepared(services, project, repository, push, update) for update in wanted]
    lines: list[str] = []
    created: list[tuple[int, str]] = []
    async with services.database.write() as connection:
        if not await pushes.take(connection, push_id, services.clock()):
            return []
        for gone in (update.short_name for update in moved if update.is_branch and update.is_delete):
            await environment_lifecycle.stop_of_branch(connection, project.id, gone, services.clock())
        for one in made:
            if one is not None:
                pipeline_id = await one.save(services, connection)
                lines += one.report(services, project, pipeline_id)
                if pipeline_id is not None:
                    created.append((pipeline_id, one.request.sha))
    await services.notifications.notify(OUTBOX)
    for pipeline_id, sha in created:
        await repository.keep(pipeline_id, sha)
    return lines


class _Made:
    """A pipeline that is about to be written: with a plan, or with the reason why there is none."""

    def __init__(
        self,
        request: PipelineRequest,
        plan: Plan | None,
        error: Invalid | None,
        skip: bool,
        places: Sequence[Place] = (),
    ) -> None:
        self.request = request
        self._plan = plan
        self._places = places
        self._error = error
        self._skip = skip or asks_to_skip(request.commit.get("message", ""))

    async def save(self, services: Services, connection: AsyncConnection) -> int | None:
        """Write the pipeline; None if the rules want none."""
        now = services.clock()
        if isinstance(self._error, PipelineFiltered):
            return None
        if self._skip:
            return await pipelines.create_ended(connection, self.request, Status.SKIPPED, now)
        if self._plan is not None:
            return await pipelines.create(connection, self.request, self._plan, now, self._places)
        return await pipelines.create_ended(
            connection, self.request, Status.FAILED, now, reason="config_error", errors=self._text()
        )

    def _text(self) -> str:
        if isinstance(self._error, ConfigInvalid):
            return "\n".join(str(issue) for issue in self._error.issues)
        return str(self._error)

    def report(self, services: Services, project: Any, pipeline_id: int | None) -> list[str]:
        """What the pusher shall read."""
        if pipeline_id is None:
            return ["", f"No pipeline for {self.request.ref}:", f"  {self._error}", ""]
        address = f"{services.settings.url}/{project.full_path}/-/pipelines/{pipeline_id}"
        if self._skip:
            return ["", f"Pipeline {pipeline_id} for {self.request.ref} is skipped, as its commit asks.", ""]
        if self._plan is not None:
            return ["", f"Pipeline {pipeline_id} for {self.request.ref}:", f"  {address}", ""]
        return ["", f"Pipeline {pipeline_id} could not be made:", *(f"  {x}" for x in self._text().split("\n")), ""]


async def _prepared(
    services: Services, project: Any, repository: Repository, push: Any, update: RefUpdate
) -> _Made | None:
    sha = await repository.resolve(update.new) if update.is_tag else update.new
    if sha is None:
        return None
    request = PipelineRequest(
        project_id=project.id,
        user_id=push.user_id,
        ref=update.short_name,
        sha=sha,
        source="push",
        tag=update.is_tag,
        before_sha=update.old,
        variables=tuple({"key": key, "value": value} for key, value in _given("ci.variable=", push.options)),
        inputs=dict(_given("ci.input=", push.options)),
    )
    try:
        request, plan = await prepare(services, request, repository)
        places = await places_for(services, request, plan)
    except ConfigMissing:
        return None
    except Invalid as error:
        return _Made(await with_commit(request, repository), None, error, "ci.skip" in push.options)
    return _Made(await with_head(request, repository), plan, None, "ci.skip" in push.options, places)


def _given(option: str, options: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Names and values of `-o ci.variable="KEY=value"` and `-o ci.input=name=value`."""
    for given in options:
        if given.startswith(option):
            name, _, value = given.removeprefix(option).strip('"').partition("=")
            yield name, value


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


async def _finish_one(services: Services, row: Any) -> None:
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
        known = await projects.visible_to(connection, 0, everything=True)
    for project in known:
        with suppress(NotFound):
            await services.repositories.get(project.id).sweep()
