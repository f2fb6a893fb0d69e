"""What the pod knows of the names that it has, or wants, in the directory of its cluster."""

from datetime import datetime

from sqlalchemy import Index
from sqlmodel import Field, SQLModel

from models.columns import moment, number_or_none


class NameClaim(SQLModel, table=True):
    """A claim on a name, written before the directory is asked for it (`domain.pods.own_claims`).

    `kind` and `name` are those of `domain.pods.claims`, `organisation_id` is the top-level group of that path.
    """

    __tablename__ = "name_claim"
    __table_args__ = (Index("name_claim_name", "kind", "name"), Index("name_claim_state", "state", "created_at"))

    claim_id: str = Field(primary_key=True)
    kind: str
    name: str
    state: str
    organisation_id: int | None = number_or_none()
    created_at: datetime = moment(nullable=False)
