"""HTML that was made of people's texts, beside each; it goes with what it is of."""

from typing import Any

from sqlalchemy import Text
from sqlmodel import Field, SQLModel

from models.columns import BIG, number


def _of(target: str) -> Any:
    return Field(foreign_key=f"{target}.id", primary_key=True, nullable=False, sa_type=BIG, ondelete="CASCADE")


class _RenderedText(SQLModel):
    """HTML of a text. `html` is none for one that is shown as it was written, for its length or its cost.

    `version` is that of the renderer (`application.texts.markdown.VERSION`); `length` are characters of the text,
    `size` of the HTML.
    """

    version: int
    length: int = number()
    size: int = number()
    html: str | None = Field(default=None, nullable=True, sa_type=Text)


class RenderedNote(_RenderedText, table=True):
    """HTML of a note on a merge request."""

    __tablename__ = "rendered_note"

    owner_id: int = _of("merge_request_note")


class RenderedRequest(_RenderedText, table=True):
    """HTML of the description of a merge request."""

    __tablename__ = "rendered_request"

    owner_id: int = _of("merge_request")


class RenderedRelease(_RenderedText, table=True):
    """HTML of the notes of a release."""

    __tablename__ = "rendered_release"

    owner_id: int = _of("release")
