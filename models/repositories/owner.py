"""Whose a row is that has the columns `project_id` and `namespace_id`."""

from dataclasses import dataclass

from sqlalchemy import ColumnElement, Table, and_


@dataclass(frozen=True, slots=True)
class Owner:
    """A project, a group, or, with neither, the installation."""

    project_id: int | None = None
    namespace_id: int | None = None

    @property
    def columns(self) -> dict[str, int | None]:
        """The columns of what it has."""
        return {"project_id": self.project_id, "namespace_id": self.namespace_id}

    def own(self, table: Table) -> ColumnElement[bool]:
        """Whether a row is its own."""
        found: ColumnElement[bool]
        if self.project_id is not None:
            found = table.c.project_id == self.project_id
        elif self.namespace_id is not None:
            found = table.c.namespace_id == self.namespace_id
        else:
            found = and_(table.c.project_id.is_(None), table.c.namespace_id.is_(None))
        return found
