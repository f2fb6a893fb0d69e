"""What somebody contributed by a push, as events tell it: gathered before the transaction of the push."""

import asyncio
from collections.abc import Sequence
from typing import Any

from application.pushes.push_events import MAX_REFS
from domain.projects.contributions import Action, Contribution, bulk_push_data, push_data
from git.reading.changes import summary
from git.repository import Repository
from git.transport.push import RefUpdate
from models.rows.projects import ProjectRow


async def pushed(
    repository: Repository, project: ProjectRow, user_id: int, moved: Sequence[RefUpdate]
) -> list[Contribution]:
    """One for each ref that was moved; of many branches, or tags, one together, as in GitLab."""
    found: list[Contribution] = []
    for tag in (False, True):
        refs = [update for update in moved if (update.is_tag if tag else update.is_branch)]
        if len(refs) > MAX_REFS:
            facts = _together(refs, tag=tag)
        else:
            facts = list(await asyncio.gather(*(_one(repository, project, update, tag=tag) for update in refs)))
        found += [Contribution(project.id, user_id, Action.PUSHED, push=push) for push in facts]
    return found


async def _one(repository: Repository, project: ProjectRow, update: RefUpdate, *, tag: bool) -> dict[str, Any]:
    count, title = await summary(repository, update, project.default_branch)
    told = 0 if tag else count
    return push_data(update.old, update.new, update.short_name, tag=tag, count=told, title=title)


def _together(refs: Sequence[RefUpdate], *, tag: bool) -> list[dict[str, Any]]:
    """How many refs were made, moved and removed."""
    singles = [push_data(update.old, update.new, "", tag=tag, count=0, title="") for update in refs]
    actions = [single["action"] for single in singles]
    return [bulk_push_data(action, tag=tag, count=actions.count(action)) for action in dict.fromkeys(actions)]
