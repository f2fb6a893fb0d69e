"""The body of each kind of event, as bytes."""

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

import orjson

from activities.hooks.job_body import deployment_body, job_body
from activities.hooks.merge_request_body import merge_request_body
from activities.hooks.note_body import note_body
from activities.hooks.pipeline_body import pipeline_body
from activities.hooks.push_body import push_body, repository_body
from activities.hooks.release_body import release_body
from domain.hooks.webhooks import Event, HookScope
from models.repositories.hooks.hook_facts import Around
from models.rows.hooks import EventDeliveryRow

Builder: TypeAlias = Callable[[EventDeliveryRow, Around, str], dict[str, Any]]

BUILDERS: Final[Mapping[Event, Builder]] = {
    Event.PUSH: push_body,
    Event.TAG_PUSH: push_body,
    Event.MERGE_REQUEST: merge_request_body,
    Event.JOB: job_body,
    Event.PIPELINE: pipeline_body,
    Event.DEPLOYMENT: deployment_body,
    Event.RELEASE: release_body,
    Event.REPOSITORY_UPDATE: repository_body,
    Event.NOTE: note_body,
    Event.CONFIDENTIAL_NOTE: note_body,
}
"""Each takes the event, what is around it, and our address."""


def body_of(row: EventDeliveryRow, around: Around | None, url: str, scope: str = HookScope.PROJECT) -> bytes:
    """The body for an event, as a hook of this scope gets it; one of the installation has nothing around it.

    System hooks are never told of commits, as in GitLab.
    """
    if around is None:
        return orjson.dumps(row.facts)
    body = BUILDERS[Event(row.kind)](row, around, url)
    if scope == HookScope.SYSTEM and "commits" in body:
        body["commits"] = []
    return orjson.dumps(body)
