"""CI/CD variables of the instance, of groups and of projects."""

from datetime import datetime

from sqlalchemy import Index, UniqueConstraint, text
from sqlmodel import SQLModel

from models.columns import COUNTING, key, moment, reference

_OF_INSTANCE = text("project_id IS NULL AND namespace_id IS NULL")


class CiVariable(SQLModel, table=True):
    """A variable of a project, of a group, or (with neither) of the instance. `value` is sealed (`auth.encryption`).

    `variable_type` is `env_var` or `file`. A `protected` one reaches protected refs only, a `hidden` one is never
    shown again. `environment_scope` is a name with `*`; `*` alone is every job.
    """

    __tablename__ = "ci_variable"
    __table_args__ = (
        UniqueConstraint("project_id", "key", "environment_scope"),
        UniqueConstraint("namespace_id", "key", "environment_scope"),
        Index(
            "variable_of_instance",
            "key",
            unique=True,
            sqlite_where=_OF_INSTANCE,
            postgresql_where=_OF_INSTANCE,
        ),
        COUNTING,
    )

    id: int | None = key()
    project_id: int | None = reference("project.id", index=True, nullable=True)
    namespace_id: int | None = reference("namespace.id", index=True, nullable=True)
    key: str
    value: str
    variable_type: str = "env_var"
    protected: bool = False
    masked: bool = False
    hidden: bool = False
    raw: bool = False
    environment_scope: str = "*"
    description: str = ""
    created_at: datetime = moment(nullable=False)
    updated_at: datetime = moment(nullable=False)
