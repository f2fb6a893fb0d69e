"""What is known of the steps before the one that an attempt of a job begins at."""

from sqlalchemy import UniqueConstraint
from sqlmodel import Field, SQLModel

from models.columns import COUNTING, key, reference


class PinnedSteps(SQLModel, table=True):
    """The step that an attempt begins at, and what the steps before it gave (`domain.steps.beginning.Beginning`).

    It waits under the `key` of the command that asks for the attempt, and gets its `job_id` when that is made; the key
    goes then, since a later attempt may repeat what it says. `done` is JSON as text: values may hold what the documents
    of PostgreSQL cannot.
    """

    __tablename__ = "pinned_steps"
    __table_args__ = (UniqueConstraint("pipeline_id", "key"), UniqueConstraint("job_id"), COUNTING)

    id: int | None = key()
    pipeline_id: int = reference("pipeline.id")
    key: str | None = Field(default=None, nullable=True)
    job_id: int | None = reference("job.id", nullable=True)
    step: str
    done: str
