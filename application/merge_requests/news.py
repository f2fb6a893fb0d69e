"""News of merge requests for webhooks and for events of people, written in the transaction of what happened."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy.ext.asyncio import AsyncConnection

from application.merge_requests import noticing, system_notes
from application.merge_requests.context import MergeContext, around
from application.services import Services
from domain.hooks.webhooks import Event, wants
from domain.merge_requests.merge_request import detailed_status
from domain.merge_requests.news import News, changes, kept
from domain.projects.contributions import MERGE_REQUEST, OF_NEWS, Contribution, Target
from git.reading.commit_facts import find_commit_facts
from models.repositories.hooks import webhook_events
from models.repositories.hooks.webhook_events import Happening
from models.repositories.merge_requests import merge_requests
from models.repositories.merge_requests.standings import known_so_far
from models.repositories.pipelines import contributions
from models.repositories.projects import protected_refs
from models.rows.merge_requests import MergeRequestRow


@dataclass(frozen=True, slots=True)
class Cause:
    """Who did it, and why: `oldrev` is where the source branch was before a push.

    `system_action` names what we did by ourselves because of it. `note` is what is noted of it on the merge request,
    where that is something else than the news.
    """

    user_id: int
    oldrev: str = ""
    system_action: str = ""
    note: str = ""


async def note(
    services: Services,
    connection: AsyncConnection,
    before: MergeRequestRow,
    news: News,
    cause: Cause,
    now: datetime,
) -> None:
    """Note news of a merge request, which was `before`: on itself, as a contribution, for people and webhooks."""
    after = await merge_requests.get(connection, before.id)
    if after is not None:
        words = {"oldrev": cause.oldrev, "instead": cause.note}
        await system_notes.write(services, connection, before, after, news, cause.user_id, now, **words)
    if news in OF_NEWS and not cause.system_action:
        target = Target(MERGE_REQUEST, before.id, before.iid, before.title)
        made = Contribution(before.project_id, cause.user_id, OF_NEWS[news], target)
        await contributions.add(connection, [made], now)
    if after is None:
        return
    watched = await webhook_events.watched(connection, before.project_id)
    await noticing.notice(connection, before, after, news, cause.user_id, watched, now)
    if not wants(watched, Event.MERGE_REQUEST):
        return
    here = await around(services, connection, after)
    await webhook_events.note(connection, [await happening_of(connection, here, before, news, cause)], now)


async def happening_of(
    connection: AsyncConnection, here: MergeContext, before: MergeRequestRow, news: News | None, cause: Cause
) -> Happening:
    """What is told of a merge request as it is now. `news` is None for a test, which has none."""
    changed = changes(before, here.row)
    facts = await facts_of(connection, here)
    for name in ("assignee_ids", "reviewer_ids"):
        facts["people"] = sorted({*facts["people"], *(key for side in changed.get(name, ()) for key in side)})
    facts |= {"action": news, "oldrev": cause.oldrev, "system_action": cause.system_action, "changes": changed}
    return Happening(here.row.project_id, Event.MERGE_REQUEST, cause.user_id, facts=facts)


async def facts_of(connection: AsyncConnection, here: MergeContext) -> dict[str, Any]:
    """A merge request as webhooks tell it, whatever happened to it or was said of it."""
    row, target = here.row, here.target
    known = await known_so_far(connection, row, target)
    protection = await protected_refs.of_project(connection, target.id)
    return {
        "merge_request": kept(row),
        "people": sorted({row.author_id, *row.assignee_ids, *row.reviewer_ids}),
        "detailed_merge_status": str(detailed_status(known.standing)),
        "discussions_resolved": known.standing.resolved or not known.standing.resolved_required,
        "approved_by": [person.id for person in known.approvals],
        "first_contribution": await merge_requests.is_first_of_author(connection, row),
        "target_protected": protection.protects(row.target_branch, tag=False),
        "head_pipeline_id": None if known.pipeline is None else known.pipeline.id,
        "commit": await find_commit_facts(here.repository, row.head_sha),
    }
