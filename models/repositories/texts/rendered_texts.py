"""HTML that was made of people's texts: read without the texts, and kept only while they are what it was made of."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import ColumnElement, Executable, Table, delete, func, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncConnection

from models.columns import padded, table_of
from models.tables.environments import Release
from models.tables.merge_request_notes import MergeRequestNote
from models.tables.merge_requests import MergeRequest
from models.tables.rendered_texts import RenderedNote, RenderedRelease, RenderedRequest
from models.typed_rows import all_of

_INSERTS: Final[Mapping[str, Callable[[Table], Any]]] = {"postgresql": postgresql.insert, "sqlite": sqlite.insert}


@dataclass(frozen=True, slots=True)
class Source:
    """Texts of one kind: the table and the column that they are in, and the table of what was made of them."""

    owner: Table
    column: str
    made: Table

    @property
    def text(self) -> ColumnElement[str]:
        """The text."""
        return self.owner.c[self.column]


NOTES: Final = Source(table_of(MergeRequestNote), "body", table_of(RenderedNote))
REQUESTS: Final = Source(table_of(MergeRequest), "description", table_of(RenderedRequest))
RELEASES: Final = Source(table_of(Release), "description", table_of(RenderedRelease))


@dataclass(frozen=True, slots=True)
class Measure:
    """The length of a text, and the `size` of its HTML in characters if there `is_html`; neither was read for it."""

    owner_id: int
    length: int
    size: int
    is_html: bool


@dataclass(frozen=True, slots=True)
class Beginning:
    """The first characters of a text, and how many it has in all."""

    id: int
    text: str
    length: int


async def measures(
    connection: AsyncConnection, source: Source, ids: Collection[int], version: int
) -> dict[int, Measure]:
    """Of those of these texts that this version of the renderer has seen, by the id of what has the text."""
    if not ids:
        return {}
    made = source.made.c
    statement = select(made.owner_id, made.length, made.size, made.html.is_not(None).label("is_html"))
    found = await connection.execute(statement.where(made.owner_id.in_(padded(ids)), made.version == version))
    return {row.owner_id: row for row in all_of(Measure, found)}


async def html_of(connection: AsyncConnection, source: Source, ids: Collection[int]) -> Mapping[int, str]:
    """The HTML of these, of those that have some."""
    if not ids:
        return {}
    made = source.made.c
    statement = select(made.owner_id, made.html).where(made.owner_id.in_(padded(ids)), made.html.is_not(None))
    return {row.owner_id: row.html for row in await connection.execute(statement)}


async def beginnings(
    connection: AsyncConnection, source: Source, ids: Collection[int], most: int
) -> Sequence[Beginning]:
    """The first `most` characters of each of these texts."""
    if not ids:
        return []
    begin = func.substr(source.text, 1, most).label("text")
    statement = select(source.owner.c.id, begin, func.length(source.text).label("length"))
    return all_of(Beginning, await connection.execute(statement.where(source.owner.c.id.in_(padded(ids)))))


async def keep(connection: AsyncConnection, source: Source, of: Beginning, version: int, html: str | None) -> None:
    """Write what was made of a text, unless it is another one by now."""
    owner, values = source.owner, _values(of, version, html)
    begins = func.substr(source.text, 1, len(of.text)) == of.text
    unchanged = select(owner.c.id).where(owner.c.id == of.id, begins, func.length(source.text) == of.length)
    # Whoever changes the text meanwhile is waited for, and then it is another one.
    if (await connection.execute(unchanged.with_for_update(key_share=True))).first() is None:
        return
    written = _INSERTS[connection.dialect.name](source.made).values(owner_id=of.id, **values)
    replaced: Executable = written.on_conflict_do_update(index_elements=["owner_id"], set_=values)
    await connection.execute(replaced)


def _values(of: Beginning, version: int, html: str | None) -> dict[str, Any]:
    return {"version": version, "length": of.length, "size": len(html or ""), "html": html}


async def forget(connection: AsyncConnection, source: Source, owner_id: int) -> None:
    """Drop what was made of a text, after another one was written: `keep` waits for that, not for this."""
    await connection.execute(delete(source.made).where(source.made.c.owner_id == owner_id))
