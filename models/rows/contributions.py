"""Rows of the tables of `models.tables.contributions`."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any


@dataclass(frozen=True, slots=True)
class ContributionRow:
    """A row of `models.tables.contributions.Contribution`, which says what its columns mean."""

    id: int
    project_id: int
    author_id: int
    action: str
    target_type: str
    target_id: int | None
    target_iid: int | None
    target_title: str
    push: Mapping[str, Any]
    created_at: datetime
