"""Secure files: what jobs of a project sign and deploy with, and what may not lie in its repository."""

from datetime import datetime

from sqlmodel import SQLModel, UniqueConstraint

from models.columns import COUNTING, key, moment, number, reference


class SecureFile(SQLModel, table=True):
    """A file of a project. Its bytes are in the store under `object_key`, sealed for that key (`auth.encryption`).

    `size` (bytes) and `sha256` (hex) are those of the file itself, before it was sealed.
    """

    __tablename__ = "secure_file"
    __table_args__ = (UniqueConstraint("project_id", "name"), COUNTING)

    id: int | None = key()
    project_id: int = reference("project.id")
    name: str
    size: int = number()
    sha256: str
    object_key: str
    created_at: datetime = moment(nullable=False)
