"""Groups and people's own namespaces, and the members of groups."""

from datetime import date, datetime

from sqlalchemy import Index, text
from sqlmodel import Field, SQLModel

from models.columns import COUNTING, key, moment, number, reference


class Namespace(SQLModel, table=True):
    """What owns projects: a group, a group within one, or a person's own (`kind` is `group` or `user`).

    One without a parent is an organisation: it lives in exactly one pod, and `organisation_id` is its own id.
    `trail` holds the ids from the organisation down to this one as `/1/5/9/`. `visibility` is as a project's. The
    levels from which on members make projects and groups in it are names of `auth.permissions.CREATION_LEVELS`. Group
    runners register with its registration token. `removal_asked_at`: it goes, and nobody finds it any more.
    """

    __table_args__ = (
        Index(
            "namespace_being_removed",
            "id",
            sqlite_where=text("removal_asked_at IS NOT NULL"),
            postgresql_where=text("removal_asked_at IS NOT NULL"),
        ),
        COUNTING,
    )

    id: int | None = key()
    organisation_id: int = number()
    parent_id: int | None = reference("namespace.id", index=True, nullable=True)
    trail: str = Field(default="", index=True)
    path: str
    full_path: str = Field(unique=True)
    name: str
    kind: str = "group"
    owner_id: int | None = reference("account.id", nullable=True)
    description: str = ""
    visibility: str = "private"
    project_creation_level: str = Field(default="developer", sa_column_kwargs={"server_default": "developer"})
    subgroup_creation_level: str = Field(default="owner", sa_column_kwargs={"server_default": "owner"})
    registration_token_hash: str | None = Field(default=None, unique=True)
    created_at: datetime = moment(nullable=False)
    removal_asked_at: datetime | None = moment()


class NamespaceMember(SQLModel, table=True):
    """Who may do what in all projects of a group and of those within it, by GitLab's access levels."""

    __tablename__ = "namespace_member"

    namespace_id: int = reference("namespace.id", primary_key=True)
    user_id: int = reference("account.id", primary_key=True, index=True)
    access_level: int
    expires_on: date | None = Field(default=None, nullable=True)
    created_at: datetime = moment(nullable=False)
