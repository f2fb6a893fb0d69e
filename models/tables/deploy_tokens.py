"""Deploy tokens: they open the repositories and images of a project or group, and stand for nobody."""

from datetime import datetime

from sqlalchemy import false
from sqlmodel import Field, SQLModel

from models.columns import COUNTING, document, key, moment, number_or_none, reference


class DeployToken(SQLModel, table=True):
    """A deploy token of a project or of a group; only its SHA-256 is kept. `scopes` are those of `auth.deploy_scopes`.

    `sealed` is the token itself (`auth.encryption`), kept of the one kind that jobs are given; empty of the others. It
    is good until `expires_at`; None is for ever. `names_pod`: it is routable. `maker_id` is the access
    token that made it.
    """

    __tablename__ = "deploy_token"
    __table_args__ = (COUNTING,)

    id: int | None = key()
    project_id: int | None = reference("project.id", index=True, nullable=True)
    namespace_id: int | None = reference("namespace.id", index=True, nullable=True)
    name: str
    username: str
    scopes: list[str] = document(list)
    token_hash: str = Field(unique=True)
    sealed: str = ""
    created_at: datetime = moment(nullable=False)
    last_used_at: datetime | None = moment()
    expires_at: datetime | None = moment()
    revoked_at: datetime | None = moment()
    names_pod: bool = Field(default=False, sa_column_kwargs={"server_default": false()})
    maker_id: int | None = number_or_none(index=True)
