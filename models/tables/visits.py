"""Visits between pods: where people of this pod went, the tickets that were shown here, and whom moves brought on."""

from datetime import datetime

from sqlmodel import Field, SQLModel

from models.columns import BIG, moment, reference


class Visit(SQLModel, table=True):
    """A person of this pod has got a ticket for another one (`pod_number`), the last one at `last_ticket_at`.

    Or a move has brought there what is theirs, and they have got none yet: then it is when that was.

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


class BroughtVisitor(SQLModel, table=True):
    """A move has brought what is a visitor's here to a third pod (`pod_number`); their home is to hear of it.

    They are called `home_id` in the pod with the number `home_pod`, which is asked after `tell_after`, if that is set.
    """

    __tablename__ = "brought_visitor"

    home_pod: int = Field(primary_key=True)
    home_id: int = Field(primary_key=True, sa_type=BIG)
    pod_number: int = Field(primary_key=True)
    moved_at: datetime = moment(nullable=False)
    tell_after: datetime | None = moment()
