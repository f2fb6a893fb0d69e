"""Rows of the tables of `models.tables.notifications`, and what several of their readers take of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any


@dataclass(frozen=True, slots=True)
class NotificationSettingRow:
    """A row of `models.tables.notifications.NotificationSetting`, which says what its columns mean."""

    id: int
    account_id: int
    project_id: int | None
    namespace_id: int | None
    level: str
    events: Mapping[str, bool]
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class ChatIntegrationRow:
    """A row of `models.tables.notifications.ChatIntegration`, which says what its columns mean."""

    id: int
    project_id: int
    slug: str
    active: bool
    webhook: str
    wishes: Mapping[str, Any]
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class NoticeRow:
    """A row of `models.tables.notifications.Notice`, which says what its columns mean."""

    id: int
    project_id: int
    kind: str
    user_id: int | None
    pipeline_id: int | None
    job_id: int | None
    merge_request_id: int | None
    facts: Mapping[str, Any]
    state: str
    attempts: int
    due_at: datetime
    error: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class MessageRow:
    """A row of `models.tables.notifications.Message`, which says what its columns mean."""

    id: int
    notice_id: int
    channel: str
    recipient: str
    account_id: int | None
    integration_id: int | None
    address: str
    uuid: str
    state: str
    single: bool
    attempts: int
    due_at: datetime
    held_until: datetime | None
    body: str
    status: int | None
    reply: str
    error: str
    tries: Sequence[Mapping[str, Any]]
    created_at: datetime
    attempted_at: datetime | None


@dataclass(frozen=True, slots=True)
class NoticedMessageRow(MessageRow):
    """A message, with what its notice is about."""

    kind: str
    project_id: int
    happened_at: datetime
