"""Badges: pictures with links that projects and groups show."""

from datetime import datetime

from sqlmodel import Field, SQLModel

from models.columns import COUNTING, key, moment, reference


class Badge(SQLModel, table=True):
    """A badge of a project, or of a group and all in it; addresses may hold placeholders (`domain.projects.badges`)."""

    __table_args__ = (COUNTING,)

    id: int | None = key()
    project_id: int | None = reference("project.id", index=True, nullable=True)
    namespace_id: int | None = reference("namespace.id", index=True, nullable=True)
    name: str = Field(default="")
    link_url: str
    image_url: str
    created_at: datetime = moment(nullable=False)
