"""The pipelines of refs that have moved, made once, whoever finishes the push."""

import asyncio
from collections.abc import Iterator, Sequence
from typing import Final

from application.merge_requests.pushed_options import carry_out_options
from application.merge_requests.refresh import refresh_of
from application.merge_requests.telling import tell_projects
from application.pipelines.prepared import Prepared, prepared
from application.pushes.push_contributions import pushed
from application.pushes.push_events import push_events
from application.services import Services
from domain.pipelines.skipping import BY_OPTION
from git.reading.languages import languages_of
from git.repository import Repository
from git.transport.push import RefUpdate
from models.notifications import MERGES, OUTBOX, PIPELINES, project_topic
from models.repositories.environments import environment_lifecycle
from models.repositories.hooks import webhook_events
from models.repositories.pipelines import contributions, pushes
from models.repositories.pipelines.pipelines import PipelineRequest
from models.repositories.projects import projects
from models.rows.outbox import PushRow
from models.rows.projects import ProjectRow

_MAX_PIPELINES: Final = 4
"""So many refs of one push get a pipeline; more are most likely a mirror (GitLab's limit)."""


async def finish(
    services: Services, project: ProjectRow, repository: Repository, push_id: int, moved: Sequence[RefUpdate]
) -> list[str]:
    """Make the pipelines of the refs that moved, once; give back what the pusher shall read."""
    async with services.database.read() as connection:
        push = await pushes.get(connection, push_id)
    wanted = [update for update in moved if (update.is_branch or update.is_tag) and not update.is_delete]
    of_requests = await carry_out_options(services, project, push, moved)  # pipelines know them by now
    if "ci.no_pipeline" in push.options or len(wanted) > _MAX_PIPELINES:
        wanted = []
    made, contributed, languages = await asyncio.gather(
        _all_prepared(services, project, repository, push, wanted),
        pushed(repository, project, push.user_id, moved),
        _languages(project, repository, moved),
    )
    told = await push_events(services, project, push, repository, moved)
    refresh = await refresh_of(services, project, repository, push, moved)
    lines: list[str] = []
    created: list[tuple[int, str]] = []
    async with services.database.write() as connection:
        if not await pushes.take(connection, push_id, services.clock()):
            return []
        await webhook_events.note(connection, told, services.clock())
        await contributions.add(connection, contributed, services.clock())
        if languages is not None and languages != project.languages:
            await projects.change(connection, project.id, languages=languages)
        for gone in (update.short_name for update in moved if update.is_branch and update.is_delete):
            now, caller_id = services.clock(), push.user_id
            await environment_lifecycle.stop_of_branch(connection, project.id, gone, now, caller_id=caller_id)
        await refresh.record(connection, services.clock())
        await of_requests.record(connection, services.clock())
        for one in made:
            if one is not None:
                pipeline_id = await one.save(services, connection)
                lines += one.report(services, project, pipeline_id)
                if pipeline_id is not None:
                    created.append((pipeline_id, one.request.sha))
    await services.notifications.notify(OUTBOX)
    await services.notifications.notify(MERGES)
    if created:
        await services.notifications.show(project_topic(project.id), PIPELINES)
    await tell_projects(services, refresh.projects)
    for pipeline_id, sha in created:
        await repository.keep(pipeline_id, sha)
    return [*lines, *await refresh.make_pipelines(), *of_requests.lines]


async def _languages(project: ProjectRow, repository: Repository, moved: Sequence[RefUpdate]) -> list[str] | None:
    """What the project is written in from now on; None where its default branch was not moved."""
    for update in moved:
        if update.is_branch and not update.is_delete and update.short_name == project.default_branch:
            return list(await languages_of(repository, update.new))
    return None


async def _all_prepared(
    services: Services, project: ProjectRow, repository: Repository, push: PushRow, updates: Sequence[RefUpdate]
) -> list[Prepared | None]:
    return [await _prepared(services, project, repository, push, update) for update in updates]


async def _prepared(
    services: Services, project: ProjectRow, repository: Repository, push: PushRow, update: RefUpdate
) -> Prepared | None:
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
    return await prepared(services, request, repository, skip=BY_OPTION if "ci.skip" in push.options else None)


def _given(option: str, options: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Names and values of `-o ci.variable="KEY=value"` and `-o ci.input=name=value`."""
    for given in options:
        if given.startswith(option):
            name, _, value = given.removeprefix(option).strip('"').partition("=")
            yield name, value
