"""Rows of the tables of `models.tables.variables`."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class CiVariableRow:
    """A row of `models.tables.variables.CiVariable`, which says what its columns mean."""

    id: int
    project_id: int | None
    namespace_id: int | None
    key: str
    value: str
    variable_type: str
    protected: bool
    masked: bool
    hidden: bool
    raw: bool
    environment_scope: str
    description: str
    created_at: datetime
    updated_at: datetime
