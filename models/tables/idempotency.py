"""Calls that were made with an `Idempotency-Key`, and their answers."""

from datetime import datetime

from sqlalchemy import LargeBinary
from sqlmodel import Field, SQLModel

from models.columns import moment


class IdempotentCall(SQLModel, table=True):
    """A call that must not be carried out twice. `caller` is the hash of the token or session that it showed.

    `fingerprint` is the hash of its method, address and body. Without a `status` it has not been answered: it is being
    carried out, or its process died meanwhile. `answer` is the sealed body.
    """

    __tablename__ = "idempotent_call"

    caller: str = Field(primary_key=True)
    key: str = Field(primary_key=True)
    fingerprint: str
    status: int | None = None
    content_type: str = ""
    answer: bytes = Field(default=b"", sa_type=LargeBinary)
    created_at: datetime = moment(nullable=False)
