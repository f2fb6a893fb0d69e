"""What webhooks are told of a push: gathered before its transaction, since commits do not change any more."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Final

from application.services import Services
from domain.errors import PerdureError
from domain.hooks.webhooks import BITS, Event, wants
from domain.projects.protection import Protection
from git.reading.changes import Changed, changes
from git.repository import Repository
from git.transport.push import RefUpdate
from git.writing.tags import tag_message
from models.repositories.hooks.webhook_events import Happening
from models.repositories.projects import protected_refs
from models.rows.projects import ProjectRow

MAX_REFS: Final = 3
"""Branches, and tags, of one push that hooks are told of: a push of more is most likely a mirror (GitLab's limit)."""
_ANY: Final = BITS[Event.PUSH] | BITS[Event.TAG_PUSH] | BITS[Event.REPOSITORY_UPDATE]


async def push_events(
    services: Services, project: ProjectRow, user_id: int, repository: Repository, moved: Sequence[RefUpdate]
) -> list[Happening]:
    """What is to be noted of a push; nothing where nobody wants to hear of it."""
    if not project.watched & _ANY:
        return []
    protection = await protection_of(services, project.id)
    told: list[Happening] = []
    if wants(project.watched, Event.REPOSITORY_UPDATE) and moved:
        told.append(repository_update(project.id, user_id, moved))
    for event, updates in (
        (Event.PUSH, [update for update in moved if update.is_branch]),
        (Event.TAG_PUSH, [update for update in moved if update.is_tag]),
    ):
        if wants(project.watched, event) and len(updates) <= MAX_REFS:
            told += [await push_event(event, project, user_id, repository, update, protection) for update in updates]
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
    event: Event, project: ProjectRow, user_id: int, repository: Repository, update: RefUpdate, protection: Protection
) -> Happening:
    """A ref that was moved, as hooks are told of it."""
    commits, total = await changes(repository, update, project.default_branch)
    checkout, message = update.new, ""
    if event is Event.TAG_PUSH:
        commits, total = [], 0
        with suppress(PerdureError):
            checkout = await repository.resolve(update.new) or update.new
            message = await tag_message(repository, update.new)
    facts = {
        "before": update.old,
        "after": update.new,
        "ref": update.ref,
        "ref_protected": protection.protects(update.short_name, tag=update.is_tag),
        "checkout_sha": checkout,
        "message": message,
        "commits": [_commit(changed) for changed in commits],
        "total": total,
    }
    return Happening(project.id, event, user_id, branch=update.short_name, facts=facts)


def _commit(changed: Changed) -> dict[str, Any]:
    commit = changed.commit
    return {
        "id": commit.sha,
        "message": commit.message,
        "title": commit.title,
        "timestamp": commit.authored_at.isoformat(),
        "author": {"name": commit.author_name, "email": commit.author_email},
        "added": changed.added,
        "modified": changed.modified,
        "removed": changed.removed,
    }
