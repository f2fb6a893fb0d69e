"""Rows of the tables of `models.tables.protected_environments`."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class ProtectedEnvironmentRow:
    """A row of `models.tables.protected_environments.ProtectedEnvironment`, which says what its columns mean."""

    id: int
    project_id: int | None
    namespace_id: int | None
    name: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class DeployAccessLevelRow:
    """A row of `models.tables.protected_environments.DeployAccessLevel`, which says what its columns mean."""

    id: int
    protected_environment_id: int
    access_level: int | None
    user_id: int | None
    group_id: int | None
    group_inheritance_type: int
