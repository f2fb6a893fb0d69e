"""Trying a webhook out: with the newest thing of its kind that the project has, and once only."""

import asyncio
from typing import Final

from sqlalchemy.ext.asyncio import AsyncConnection

from application.hooks.note_news import CREATE, happening_of_note
from application.merge_requests.context import around
from application.merge_requests.news import Cause, happening_of
from application.pushes.push_events import protection_of, push_event, repository_update
from application.services import Services
from domain.errors import Invalid, NotFound
from domain.hooks.system_events import TEST
from domain.hooks.webhooks import Event
from git.transport.push import RefUpdate
from models.notifications import HOOKS, delivery_topic
from models.repositories.artifacts import releases
from models.repositories.environments import reported_deployments
from models.repositories.hooks import hook_deliveries, hooks, webhook_events
from models.repositories.hooks.webhook_events import Happening
from models.repositories.merge_requests import merge_request_notes, merge_requests
from models.repositories.merge_requests.merge_requests import MergeRequestFilter
from models.repositories.owner import Owner
from models.repositories.paging import first_of
from models.repositories.projects import projects
from models.rows.hooks import EventDeliveryRow
from models.rows.projects import ProjectRow

_MISSING: Final = {
    Event.PUSH: "Ensure the project has at least one commit.",
    Event.TAG_PUSH: "Ensure the project has at least one tag.",
    Event.MERGE_REQUEST: "Ensure the project has merge requests.",
    Event.JOB: "Ensure the project has CI jobs.",
    Event.PIPELINE: "Ensure the project has CI pipelines.",
    Event.DEPLOYMENT: "Ensure the project has deployments.",
    Event.RELEASE: "Ensure the project has releases.",
    Event.NOTE: "Ensure the project has notes.",
    Event.CONFIDENTIAL_NOTE: "Ensure the project has notes.",
    Event.REPOSITORY_UPDATE: "Ensure the project has at least one commit.",
}
"""GitLab's words."""
_NONE: Final = "0" * 40
_LOOK_AGAIN: Final = 1.0
"""Seconds after which one looks although nobody was told."""


async def sample(services: Services, project: ProjectRow, user_id: int, event: Event) -> Happening:
    """Something that a hook of the project may be told of. Raises `Invalid` where there is nothing of the kind."""
    if event in {Event.PUSH, Event.TAG_PUSH, Event.REPOSITORY_UPDATE}:
        found = await _pushed(services, project, user_id, event)
    else:
        async with services.database.read() as connection:
            if event is Event.RELEASE:
                row = await first_of(connection, releases.of_project(project.id))
                found = None if row is None else releases.happening_of(row, "create")
            elif event is Event.MERGE_REQUEST:
                found = await _merge_request(services, connection, project.id, user_id)
            elif event in {Event.NOTE, Event.CONFIDENTIAL_NOTE}:
                found = await _note(services, connection, project.id, event)
            elif event is Event.DEPLOYMENT:
                found = await _deployment(services, connection, project.id)
            else:
                found = await webhook_events.sample(connection, project.id, event)
    if found is None:
        raise Invalid(_MISSING[event])
    return found


_MAX_LOOKED_AT: Final = 20
"""Projects in which something to tell of is looked for, the newest first."""


async def sample_of_owner(services: Services, owner: Owner, user_id: int, event: Event) -> Happening:
    """The same for a hook of perhaps many projects: of the newest that has anything of the kind. Raises `Invalid`."""
    async with services.database.read() as connection:
        rows = await projects.newest(connection, hooks.heard_projects(owner), _MAX_LOOKED_AT)
    fault = Invalid("Ensure there is a project with commits.")
    for row in rows:
        try:
            return await sample(services, row, user_id, event)
        except Invalid as error:
            fault = error
    raise fault


def sample_of_system() -> Happening:
    """What a system hook is told when it is tried out."""
    return Happening(None, Event.SYSTEM, facts=TEST)


async def _merge_request(
    services: Services, connection: AsyncConnection, project_id: int, user_id: int
) -> Happening | None:
    """The newest merge request, without anything that happened to it."""
    newest = merge_requests.listed(MergeRequestFilter(projects=[project_id]))
    row = await first_of(connection, newest)
    if row is None:
        return None
    return await happening_of(connection, await around(services, connection, row), row, None, Cause(user_id))


async def _note(services: Services, connection: AsyncConnection, project_id: int, event: Event) -> Happening | None:
    """The newest note that people wrote on a merge request."""
    note = await merge_request_notes.newest(connection, project_id, internal=event is Event.CONFIDENTIAL_NOTE)
    row = None if note is None else await merge_requests.get(connection, note.merge_request_id)
    if note is None or row is None:
        return None
    return await happening_of_note(connection, await around(services, connection, row), note, CREATE)


async def _deployment(services: Services, connection: AsyncConnection, project_id: int) -> Happening | None:
    """The newest deployment, whether a job made it or somebody reported it."""
    row = await reported_deployments.newest(connection, project_id)
    if row is None:
        return await webhook_events.sample(connection, project_id, Event.DEPLOYMENT)
    return reported_deployments.happening_of(row, await services.repositories.title_of(project_id, row.sha))


async def _pushed(services: Services, project: ProjectRow, user_id: int, event: Event) -> Happening | None:
    """The newest commit of the default branch, or a tag, as if it had just been pushed."""
    try:
        repository = services.repositories.get(project.id)
    except NotFound:
        return None
    if event is Event.TAG_PUSH:
        tags = await repository.tags()
        update = RefUpdate(_NONE, tags[-1].object, tags[-1].name) if tags else None
    else:
        head = await repository.resolve(f"refs/heads/{project.default_branch}")
        parents = (await repository.commit(head)).parents if head else ()
        update = RefUpdate((*parents, _NONE)[0], head, f"refs/heads/{project.default_branch}") if head else None
    if update is None:
        return None
    if event is Event.REPOSITORY_UPDATE:
        return repository_update(project.id, user_id, [update])
    return await push_event(event, project, user_id, repository, update, await protection_of(services, project.id))


async def send(
    services: Services, hook_id: int, happened: Happening | int, *, body: str = "", uuid: str = ""
) -> EventDeliveryRow:
    """Have an event (or one that is on record, by its id) delivered once; the delivery when that was tried.

    Where it takes too long the delivery is still open, and goes on.
    """
    now = services.clock()
    async with services.database.write() as connection:
        event_id = happened if isinstance(happened, int) else await webhook_events.add(connection, happened, now)
        delivery_id = await hook_deliveries.add(connection, hook_id, event_id, now, body=body, uuid=uuid)
    await services.notifications.notify(HOOKS)
    return await _tried(services, hook_id, delivery_id)


async def _tried(services: Services, hook_id: int, delivery_id: int) -> EventDeliveryRow:
    times = services.settings.times
    clock = asyncio.get_running_loop().time
    deadline = clock() + times.hook_timeout + min(times.hook_timeout, times.command_answer)
    topic = delivery_topic(delivery_id)
    while True:
        waiter = services.notifications.subscribe(topic)
        try:
            async with services.database.read() as connection:
                row = await hook_deliveries.get(connection, delivery_id, hook_id)
            if row.state != hook_deliveries.OPEN or clock() > deadline:
                return row
            await asyncio.wait([waiter], timeout=_LOOK_AGAIN)
        finally:
            services.notifications.leave(topic, waiter)
