"""Files that people put beside a project, to be linked in its releases, merge requests and notes."""

from datetime import datetime

from sqlmodel import SQLModel

from models.columns import COUNTING, key, moment, number, reference


class ProjectUpload(SQLModel, table=True):
    """A file of a project. Its address ends with `secret` and `filename`; its bytes are in the store (`object_key`).

    `size` is in bytes, `sha256` in hex.
    """

    __tablename__ = "project_upload"
    __table_args__ = (COUNTING,)

    id: int | None = key()
    project_id: int = reference("project.id", index=True)
    user_id: int = reference("account.id")
    secret: str
    filename: str
    size: int = number()
    sha256: str
    object_key: str
    created_at: datetime = moment(nullable=False)
