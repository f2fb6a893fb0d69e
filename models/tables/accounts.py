"""People and robots, and their access tokens."""

from datetime import date, datetime

from sqlalchemy import Index, false, text, true
from sqlmodel import Field, SQLModel

from models.columns import COUNTING, document, key, moment, number, number_or_none, reference

NO_LIMIT = 100_000
"""Projects: so many that nobody meets it; GitLab's default."""


class User(SQLModel, table=True):
    """A person or a robot that acts.

    `password_hash` is argon2id's own text; empty for whoever cannot sign in by password. `state` is `active` or
    `blocked`: a blocked person's tokens and sessions are worth nothing. A `bot` belongs to a token of a project or
    group. `external` ones see no internal projects. `can_create_group`: at the top; within others those decide.
    `projects_limit`: so many projects in their own namespace. A session is good while it carries its person's
    `session_epoch`. `current_sign_in_at` and `last_sign_in_at` are the last two sign-ins at the pages;
    `last_activity_on` is the day (UTC) of the last call as this person. Visitors have a `home_pod`, the number of the
    pod that claimed their name, and their id there (`home_id`) once they have come; both are None for the pod's own.
    """

    __tablename__ = "account"
    __table_args__ = (
        Index(
            "account_of_others",
            "id",
            sqlite_where=text("is_admin = 0 AND bot = 0"),
            postgresql_where=text("NOT is_admin AND NOT bot"),
        ),
        Index("account_of_home", "home_pod", "home_id", unique=True),
        COUNTING,
    )

    id: int | None = key()
    username: str = Field(unique=True)
    name: str
    email: str
    is_admin: bool = False
    state: str = "active"
    bot: bool = False
    external: bool = False
    can_create_group: bool = Field(default=True, sa_column_kwargs={"server_default": true()})
    projects_limit: int = Field(default=NO_LIMIT, sa_column_kwargs={"server_default": str(NO_LIMIT)})
    password_hash: str = ""
    session_epoch: int = number()
    created_at: datetime = moment(nullable=False)
    current_sign_in_at: datetime | None = moment()
    last_sign_in_at: datetime | None = moment()
    last_activity_on: date | None = Field(default=None, nullable=True)
    home_pod: int | None = number_or_none()
    home_id: int | None = number_or_none()


class AccessToken(SQLModel, table=True):
    """A personal, project or group access token; only its SHA-256 is kept.

    `scopes` are those of `auth.scopes`. It is good until the beginning of the day `expires_on` (UTC); None is for ever.
    The token of a project (`project_id`) or group (`namespace_id`) belongs to a bot that is a member there. One of
    `impersonation` was made by an administrator to act as a person, who neither sees nor revokes it. `names_pod`: it is
    routable (`domain.pods.routable_token`), as all are that were made since there are several pods. `maker_id` is the
    token that made it (`domain.token_chains`), None for a person who showed none; no foreign key, for what outlived its
    maker's row opens nothing. `rotated_to` is its successor.
    """

    __tablename__ = "access_token"
    __table_args__ = (COUNTING,)

    id: int | None = key()
    user_id: int = reference("account.id", index=True)
    project_id: int | None = reference("project.id", index=True, nullable=True)
    namespace_id: int | None = reference("namespace.id", index=True, nullable=True)
    name: str
    description: str = ""
    scopes: list[str] = document(list)
    token_hash: str = Field(unique=True)
    created_by: int | None = reference("account.id", nullable=True)
    created_at: datetime = moment(nullable=False)
    last_used_at: datetime | None = moment()
    expires_on: date | None = Field(default=None, nullable=True)
    revoked_at: datetime | None = moment()
    impersonation: bool = Field(default=False, sa_column_kwargs={"server_default": false()})
    names_pod: bool = Field(default=False, sa_column_kwargs={"server_default": false()})
    maker_id: int | None = number_or_none(index=True)
    rotated_to: int | None = number_or_none()
