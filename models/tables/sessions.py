"""Sessions that were ended before their time."""

from datetime import datetime

from sqlmodel import Field, SQLModel

from models.columns import moment


class EndedSession(SQLModel, table=True):
    """A session that was signed out. The row goes once the session would have ended by itself (`expires_at`)."""

    __tablename__ = "ended_session"

    session_id: str = Field(primary_key=True)
    expires_at: datetime = moment(nullable=False)
