"""What people chose to hear, and integrations that are told, as GitLab's REST API shows them."""

from collections.abc import Iterable, Mapping
from typing import Any, Final, NotRequired

from typing_extensions import TypedDict

from domain.moments import moment
from domain.notifications.integrations import TITLES, Slug, Wishes, wishes_of
from domain.notifications.levels import EVENTS, Level, Setting
from models.rows.notifications import ChatIntegrationRow, MessageRow

UNTOLD: Final = (
    "push_events",
    "tag_push_events",
    "commit_events",
    "job_events",
    "issues_events",
    "confidential_issues_events",
    "note_events",
    "confidential_note_events",
    "wiki_page_events",
    "incident_events",
    "vulnerability_events",
)
"""Events of GitLab's integrations of which nothing is told here."""


class NotificationSettingsResponse(TypedDict):
    """How much the caller wants to hear; `events` with the level `custom`.

    `notification_email` is where everything goes. `emails_are_sent`, a field of our own, says whether anything does.
    """

    level: str
    events: NotRequired[dict[str, bool]]
    notification_email: NotRequired[str]
    emails_are_sent: bool


def settings(chosen: Setting, *, sent: bool, email: str | None = None) -> NotificationSettingsResponse:
    """What somebody chose for a place; with `email` for everything."""
    shown: NotificationSettingsResponse = {"level": str(chosen.level), "emails_are_sent": sent}
    if chosen.level is Level.CUSTOM:
        shown["events"] = {name: chosen.wants(name) for name in EVENTS}
    if email is not None:
        shown["notification_email"] = email
    return shown


class ToldIntegrationResponse(TypedDict):
    """An integration that is told what happens."""

    id: int
    title: str
    slug: str
    created_at: str
    updated_at: str
    active: bool
    inherited: bool
    pipeline_events: bool
    deployment_events: bool
    merge_requests_events: bool
    push_events: bool
    tag_push_events: bool
    commit_events: bool
    job_events: bool
    issues_events: bool
    confidential_issues_events: bool
    note_events: bool
    confidential_note_events: bool
    wiki_page_events: bool
    incident_events: bool
    vulnerability_events: bool


class SentMessageResponse(TypedDict):
    """A message that an integration was told of late. `status` and `reply` are of the last attempt."""

    id: int
    occasion: str
    recipient: str | None
    state: str
    attempts: int
    status: int | None
    reply: str
    error: str | None
    created_at: str
    attempted_at: str | None


class ToldIntegrationDetailsResponse(ToldIntegrationResponse):
    """The same with its settings; the address of a chat's webhook is a secret and not shown.

    `webhook_present`, `emails_are_sent` and `last_messages` are fields of our own.
    """

    properties: dict[str, Any]
    webhook_present: bool
    emails_are_sent: bool
    last_messages: list[SentMessageResponse]


def integration(row: ChatIntegrationRow) -> ToldIntegrationResponse:
    """An integration as lists have it."""
    wishes, is_chat = wishes_of(row.wishes), row.slug != Slug.PIPELINES_EMAIL
    return {
        "id": row.id,
        "title": TITLES[Slug(row.slug)],
        "slug": row.slug,
        "created_at": moment(row.created_at),
        "updated_at": moment(row.updated_at),
        "active": row.active,
        "inherited": False,
        "pipeline_events": wishes.pipeline_events,
        "deployment_events": is_chat and wishes.deployment_events,
        "merge_requests_events": is_chat and wishes.merge_requests_events,
        "push_events": False,
        "tag_push_events": False,
        "commit_events": False,
        "job_events": False,
        "issues_events": False,
        "confidential_issues_events": False,
        "note_events": False,
        "confidential_note_events": False,
        "wiki_page_events": False,
        "incident_events": False,
        "vulnerability_events": False,
    }


def integration_in_full(
    row: ChatIntegrationRow, sent: Iterable[tuple[str, MessageRow]], *, emails_are_sent: bool
) -> ToldIntegrationDetailsResponse:
    """An integration with its settings, and what it was told of late: messages, each with its occasion."""
    return {
        **integration(row),
        "properties": dict(_properties(Slug(row.slug), wishes_of(row.wishes))),
        "webhook_present": bool(row.webhook),
        "emails_are_sent": emails_are_sent,
        "last_messages": [_message(occasion, message) for occasion, message in sent],
    }


def _properties(slug: Slug, wishes: Wishes) -> Mapping[str, Any]:
    broken, branches = wishes.notify_only_broken_pipelines, str(wishes.branches_to_be_notified)
    common = {"notify_only_broken_pipelines": broken, "branches_to_be_notified": branches}
    if slug is Slug.PIPELINES_EMAIL:
        return {"recipients": ",".join(wishes.recipients), "add_pusher": wishes.add_pusher, **common}
    channels = {
        name: getattr(wishes, name) for name in ("pipeline_channel", "deployment_channel", "merge_request_channel")
    }
    return {"username": wishes.username, "channel": wishes.channel, **channels, **common}


def _message(occasion: str, row: MessageRow) -> SentMessageResponse:
    return {
        "id": row.id,
        "occasion": occasion,
        "recipient": row.address or None,
        "state": row.state,
        "attempts": row.attempts,
        "status": row.status,
        "reply": row.reply,
        "error": row.error or None,
        "created_at": moment(row.created_at),
        "attempted_at": None if row.attempted_at is None else moment(row.attempted_at),
    }
