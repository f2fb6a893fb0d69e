"""Protected environments of projects and groups, and who may deploy to them."""

from datetime import datetime

from sqlalchemy import UniqueConstraint
from sqlmodel import SQLModel

from models.columns import COUNTING, key, moment, reference


class ProtectedEnvironment(SQLModel, table=True):
    """A rule of a project for the environment of this name, or of a group for all those of a deployment tier."""

    __tablename__ = "protected_environment"
    __table_args__ = (UniqueConstraint("project_id", "name"), UniqueConstraint("namespace_id", "name"), COUNTING)

    id: int | None = key()
    project_id: int | None = reference("project.id", nullable=True)
    namespace_id: int | None = reference("namespace.id", nullable=True)
    name: str
    created_at: datetime = moment(nullable=False)


class DeployAccessLevel(SQLModel, table=True):
    """Whom a rule lets deploy: those with an access level, one person, or the members of a group.

    `group_inheritance_type` is 0 for the members of the group itself, 1 for those of the groups above it, too.
    """

    __tablename__ = "deploy_access_level"
    __table_args__ = (COUNTING,)

    id: int | None = key()
    protected_environment_id: int = reference("protected_environment.id", index=True)
    access_level: int | None = None
    user_id: int | None = reference("account.id", nullable=True)
    group_id: int | None = reference("namespace.id", index=True, nullable=True)
    group_inheritance_type: int = 0
