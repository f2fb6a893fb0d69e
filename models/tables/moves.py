"""Moves of organisations from pod to pod: those that leave, what of them is packed, and those that arrive."""

from datetime import datetime
from typing import Any

from sqlalchemy import Text
from sqlmodel import Field, SQLModel

from models.columns import document, moment, number


class OrganisationMove(SQLModel, table=True):
    """A move of an organisation out of this pod; `state` is a `domain.pods.moving.Move`.

    `claim_id` is the claim on its path at the directory, empty until the rows are packed. `facts` are `projects`,
    `groups` and `hooks`, the ids by which others call what moves, and `counts`, rows by table. At `forget_at` what is
    left here goes.
    """

    __tablename__ = "organisation_move"

    move_id: str = Field(primary_key=True)
    organisation_id: int = number()
    path: str
    target: str
    target_number: int
    state: str = Field(index=True)
    claim_id: str = ""
    facts: dict[str, Any] = document()
    created_at: datetime = moment(nullable=False)
    changed_at: datetime = moment(nullable=False)
    forget_at: datetime | None = moment()


class MovedRow(SQLModel, table=True):
    """Rows of a table, packed in the transaction that removed them; `content` is a list of JSON documents.

    It is sealed where its columns are. Packs of a move are put back in the order of their numbers.
    """

    __tablename__ = "moved_row"

    move_id: str = Field(primary_key=True)
    number: int = Field(primary_key=True)
    name: str
    content: str = Field(nullable=False, sa_type=Text)


class OrganisationArrival(SQLModel, table=True):
    """A move of an organisation into this pod; `state` is a `domain.pods.moving.Arrival`.

    The rows come in the transaction that turns it from `expected` to `arrived`, so they come once or never.
    """

    __tablename__ = "organisation_arrival"

    move_id: str = Field(primary_key=True)
    organisation_id: int = number()
    path: str
    source: str
    state: str
    claim_id: str = ""
    created_at: datetime = moment(nullable=False)
    changed_at: datetime = moment(nullable=False)
