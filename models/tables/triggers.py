"""Tokens that start pipelines of a project, whoever shows them."""

from datetime import datetime

from sqlalchemy import false
from sqlmodel import Field, SQLModel

from models.columns import COUNTING, key, moment, number_or_none, reference


class PipelineTrigger(SQLModel, table=True):
    """A trigger token; only its SHA-256 is kept, and `short_token`, its first characters after the prefix.

    Pipelines that it starts are those of its owner. It is good until `expires_at`; None is for ever. `names_pod`: the
    token is routable. `maker_id` is the access token that made it.
    """

    __tablename__ = "pipeline_trigger"
    __table_args__ = (COUNTING,)

    id: int | None = key()
    project_id: int = reference("project.id", index=True)
    owner_id: int = reference("account.id")
    description: str
    token_hash: str = Field(unique=True)
    short_token: str
    created_at: datetime = moment(nullable=False)
    updated_at: datetime = moment(nullable=False)
    last_used_at: datetime | None = moment()
    expires_at: datetime | None = moment()
    names_pod: bool = Field(default=False, sa_column_kwargs={"server_default": false()})
    maker_id: int | None = number_or_none(index=True)
