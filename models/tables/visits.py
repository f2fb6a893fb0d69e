"""Visits between pods: where people of this pod went, and the tickets that were shown here."""

from datetime import datetime

from sqlmodel import Field, SQLModel

from models.columns import moment, reference


class Visit(SQLModel, table=True):
    """A person of this pod has got a ticket for another one (`pod_number`), the last one at `last_ticket_at`.

    `told_blocked` is whether the other pod may have heard that they are blocked here; it hears more after `tell_after`.
    """

    __tablename__ = "visit"

    user_id: int = reference("account.id", primary_key=True)
    pod_number: int = Field(primary_key=True)
    last_ticket_at: datetime = moment(nullable=False)
    told_blocked: bool = False
    tell_after: datetime | None = moment()


class UsedTicket(SQLModel, table=True):
    """A ticket of another pod's that was shown here; the row goes once nobody would take the ticket any more.

    `ticket_id` is the number of that pod, and what the ticket is called there.
    """

    __tablename__ = "used_ticket"

    ticket_id: str = Field(primary_key=True)
    expires_at: datetime = moment(nullable=False)
