"""What ties projects to groups and people besides membership: shares, stars, and the paths that they had before."""

from datetime import date, datetime

from sqlmodel import Field, SQLModel, UniqueConstraint

from models.columns import COUNTING, key, moment, reference


class ProjectShare(SQLModel, table=True):
    """A group whose members are members of a project, with their own level but `access_level` at most.

    Until the beginning of the day `expires_on` (UTC); None is for ever.
    """

    __tablename__ = "project_share"
    __table_args__ = (UniqueConstraint("project_id", "namespace_id"), COUNTING)

    id: int | None = key()
    project_id: int = reference("project.id")
    namespace_id: int = reference("namespace.id", index=True)
    access_level: int
    expires_on: date | None = Field(default=None, nullable=True)
    created_at: datetime = moment(nullable=False)


class ProjectStar(SQLModel, table=True):
    """A person has starred a project."""

    __tablename__ = "project_star"

    project_id: int = reference("project.id", primary_key=True)
    user_id: int = reference("account.id", primary_key=True, index=True)
    starred_at: datetime = moment(nullable=False)


class ProjectRedirect(SQLModel, table=True):
    """A path that a project had before it was moved; it leads there until another project takes the path."""

    __tablename__ = "project_redirect"

    full_path: str = Field(primary_key=True)
    project_id: int = reference("project.id", index=True)
