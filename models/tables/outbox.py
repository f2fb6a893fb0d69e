"""What is owed to workflows: messages, operations and pushes, written in the transaction that decides them."""

from datetime import datetime
from typing import Any

from sqlalchemy import Index
from sqlmodel import Field, SQLModel

from models.columns import COUNTING, document, document_or_none, key, moment, number_or_none, only, reference


class Outbox(SQLModel, table=True):
    """What SQL has to tell Temporal. `sent_at` is when Temporal took it; a row goes when its effect is recorded."""

    __table_args__ = (Index("outbox_unsent", "sent_at", "not_before"), COUNTING)

    id: int | None = key()
    kind: str
    pipeline_id: int = reference("pipeline.id", index=True)
    job_id: int | None = reference("job.id", nullable=True)
    payload: dict[str, Any] = document()
    attempts: int = 0
    error: str = ""
    created_at: datetime = moment(nullable=False)
    not_before: datetime = moment(nullable=False)
    sent_at: datetime | None = moment()


class OperationKey(SQLModel, table=True):
    """A command that a workflow has answered, so that a repetition gets the same answer.

    `caller_id` is the account that asked for it, None where nobody knows: a signal by hand.
    """

    __tablename__ = "operation_key"

    pipeline_id: int = reference("pipeline.id", primary_key=True)
    key: str = Field(primary_key=True)
    answer: dict[str, Any] = document()
    caller_id: int | None = number_or_none()
    created_at: datetime = moment(nullable=False)


class OperationCaller(SQLModel, table=True):
    """Who asked for a command, until the workflow has answered it: Temporal knows nobody."""

    __tablename__ = "operation_caller"

    pipeline_id: int = reference("pipeline.id", primary_key=True)
    key: str = Field(primary_key=True)
    name: str
    job_id: int | None = reference("job.id", nullable=True)
    user_id: int = reference("account.id")


class PlayVariables(SQLModel, table=True):
    """Variables and inputs for a job that is started until the workflow has answered the command of that key.

    They never cross Temporal.
    """

    __tablename__ = "play_variables"

    pipeline_id: int = reference("pipeline.id", primary_key=True)
    key: str = Field(primary_key=True)
    job_id: int = reference("job.id")
    variables: list[dict[str, str]] = document(list)
    inputs: dict[str, Any] | None = document_or_none()


class Push(SQLModel, table=True):
    """Refs that a push is about to move: written before git runs, so that no moved ref lacks its pipeline."""

    __table_args__ = (Index("push_open", "id", **only("done_at IS NULL")), COUNTING)

    id: int | None = key()
    project_id: int = reference("project.id", index=True)
    user_id: int = reference("account.id")
    updates: list[dict[str, str]] = document(list)
    options: list[str] = document(list)
    done_at: datetime | None = moment()
    created_at: datetime = moment(nullable=False)
