"""Rows of the tables of `models.tables.incoming_hooks`."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any


@dataclass(frozen=True, slots=True)
class IncomingHookRow:
    """A row of `models.tables.incoming_hooks.IncomingHook`, which says what its columns mean."""

    id: int
    project_id: int
    user_id: int
    forge: str
    description: str
    secret: str
    created_at: datetime
    rotated_at: datetime | None
    last_delivery_at: datetime | None


@dataclass(frozen=True, slots=True)
class IncomingDeliveryRow:
    """A row of `models.tables.incoming_hooks.IncomingDelivery`, which says what its columns mean."""

    id: int
    hook_id: int
    delivery_id: str
    body_digest: str | None
    event: str
    request: Mapping[str, Any]
    pipeline_id: int | None
    error: str
    attempts: int
    created_at: datetime
    not_before: datetime
    done_at: datetime | None
