"""What webhooks are told of a push: gathered before its transaction, since commits do not change any more."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from application.services import Services
from domain.errors import PerdureError
from domain.hooks.webhooks import BITS, Event, wants
from domain.pipelines.push_options import told_options
from domain.projects.protection import Protection
from git.reading.changes import Changed, change_of, changes
from git.reading.commit_facts import describe_change
from git.repository import Repository
from git.transport.push import RefUpdate
from git.writing.tags import tag_message
from models.repositories.hooks.webhook_events import Happening
from models.repositories.projects import protected_refs
from models.rows.outbox import PushRow
from models.rows.projects import ProjectRow

MAX_REFS: Final = 3
"""Branches, and tags, of one push that hooks are told of: a push of more is most likely a mirror (GitLab's limit)."""
_ANY: Final = BITS[Event.PUSH] | BITS[Event.TAG_PUSH] | BITS[Event.REPOSITORY_UPDATE]


async def push_events(
    services: Services, project: ProjectRow, push: PushRow, repository: Repository, moved: Sequence[RefUpdate]
) -> list[Happening]:
    """What is to be noted of a push; nothing where nobody wants to hear of it."""
    if not project.watched & _ANY:
        return []
    protection = await protection_of(services, project.id)
    told: list[Happening] = []
    if wants(project.watched, Event.REPOSITORY_UPDATE) and moved:
        told.append(repository_update(project.id, push.user_id, moved))
    for event, updates in (
        (Event.PUSH, [update for update in moved if update.is_branch]),
        (Event.TAG_PUSH, [update for update in moved if update.is_tag]),
    ):
        if wants(project.watched, event) and len(updates) <= MAX_REFS:
            told += [
                await push_event(event, project, push.user_id, repository, update, protection, push.options)
                for update in updates
            ]
    return told


def repository_update(project_id: int, user_id: int, moved: Sequence[RefUpdate]) -> Happening:
    """A push as a whole, however many refs it moved."""
    changes = [{"before": update.old, "after": update.new, "ref": update.ref} for update in moved]
    return Happening(project_id, Event.REPOSITORY_UPDATE, user_id, facts={"changes": changes})


async def protection_of(services: Services, project_id: int) -> Protection:
    """The protected refs of a project."""
    async with services.database.read() as connection:
        return await protected_refs.of_project(connection, project_id)


async def push_event(
    event: Event,
    project: ProjectRow,
    user_id: int,
    repository: Repository,
    update: RefUpdate,
    protection: Protection,
    options: Sequence[str] = (),
) -> Happening:
    """A ref that was moved, as hooks are told of it."""
    if event is Event.TAG_PUSH:
        checkout, message, commits = await _of_tag(repository, update)
        total = len(commits)
    else:
        checkout, message = update.new, ""
        commits, total = await changes(repository, update, project.default_branch)
    facts = {
        "before": update.old,
        "after": update.new,
        "ref": update.ref,
        "ref_protected": protection.protects(update.short_name, tag=update.is_tag),
        "checkout_sha": checkout,
        "message": message,
        "commits": [describe_change(changed) for changed in commits],
        "total": total,
        "push_options": told_options(options),
    }
    return Happening(project.id, event, user_id, branch=update.short_name, facts=facts)


async def _of_tag(repository: Repository, update: RefUpdate) -> tuple[str, str, list[Changed]]:
    """What a tag stands for, its message, and the one commit that is told of it; none of one that is gone."""
    checkout, message = update.new, ""
    if update.is_delete:
        return checkout, message, []
    with suppress(PerdureError):
        checkout = await repository.resolve(update.new) or update.new
        message = await tag_message(repository, update.new)
    found = await change_of(repository, checkout)
    return checkout, message, [] if found is None else [found]
