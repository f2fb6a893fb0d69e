"""Who people are at providers of OpenID Connect."""

from datetime import datetime

from sqlalchemy import UniqueConstraint
from sqlmodel import SQLModel

from models.columns import COUNTING, key, moment, reference


class Identity(SQLModel, table=True):
    """The account of somebody whom an issuer calls `subject`; the issuer never gives that name to somebody else."""

    __table_args__ = (UniqueConstraint("issuer", "subject"), COUNTING)

    id: int | None = key()
    user_id: int = reference("account.id", index=True)
    issuer: str
    subject: str
    created_at: datetime = moment(nullable=False)
