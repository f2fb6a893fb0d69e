"""People's texts on pages: as HTML if that was made, else as they were written; a page has a bound of both.

No text is rendered here, and none is read whole: what a page costs depends on the page, not on what people wrote.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from markupsafe import Markup

from api.services import Services
from application.texts.markdown import MAX_HTML, MAX_RENDERED, VERSION
from models.repositories.texts import rendered_texts
from models.repositories.texts.rendered_texts import Beginning, Measure, Source

MAX_PAGE: Final = MAX_HTML
"""Characters of HTML or plain text on one page, of all texts of a kind; what is beyond has a page for itself."""
MAX_PLAIN: Final = 100_000
"""Characters that are shown of a text that is not rendered."""
_TOO_LONG: Final = f"Shown as it was written: more than {MAX_RENDERED:,} characters are not rendered."
_TOO_MUCH: Final = "Shown as it was written: it takes too long to render it, or becomes too large."
_SOON: Final = "Shown as it was written until it is rendered, in a moment."


@dataclass(frozen=True, slots=True)
class ShownText:
    """A text of `length` characters: its `html`, else its beginning as `plain` and `why`; neither if it has no place.

    One that is left out has a page for itself.
    """

    length: int
    html: Markup | None = None
    plain: str = ""
    why: str = ""

    @property
    def is_left_out(self) -> bool:
        """Whether nothing of it is shown."""
        return self.html is None and not self.plain and self.length > 0


async def shown_texts(
    services: Services, source: Source, ids: Sequence[int], part: Callable[[Beginning], str] = lambda of: of.text
) -> Mapping[int, ShownText]:
    """These texts by id; the first ones have their place first. `part` is what of a text is rendered."""
    known, unseen = await _measured(services, source, ids, part)
    room, shown, html, plain = MAX_PAGE, dict[int, ShownText](), list[int](), list[int]()
    for key in ids:
        measure, of = known.get(key), unseen.get(key)
        length = measure.length if measure else of.length if of else 0
        size = measure.size if measure and measure.is_html else len(of.text) if of else min(length, MAX_PLAIN)
        if size > room:
            shown[key] = ShownText(length)
            continue
        room -= size
        if of is not None:
            shown[key] = ShownText(length, None, of.text, _SOON)
        else:
            (html if measure and measure.is_html else plain).append(key)
    async with services.database.read() as connection:
        made = await rendered_texts.html_of(connection, source, html)
        written = await rendered_texts.beginnings(connection, source, plain, MAX_PLAIN)
    shown |= {key: ShownText(known[key].length, Markup(text)) for key, text in made.items()}  # noqa: S704  # HTML in it is escaped
    return shown | {of.id: ShownText(of.length, None, of.text, _why(of.length)) for of in written}


async def _measured(
    services: Services, source: Source, ids: Sequence[int], part: Callable[[Beginning], str]
) -> tuple[Mapping[int, Measure], Mapping[int, Beginning]]:
    """What is known of the texts, and those of which nothing is: they are asked for, and waited for a moment."""
    async with services.database.read() as connection:
        known = await rendered_texts.measures(connection, source, ids, VERSION)
        missing = [key for key in ids if key not in known]
        unseen = await rendered_texts.beginnings(connection, source, missing, MAX_RENDERED + 1)
    if not unseen:
        return known, {}
    for of in unseen:
        services.renderings.ask(source, of, part(of))
    await services.renderings.wait(source, missing)
    async with services.database.read() as connection:
        known |= await rendered_texts.measures(connection, source, missing, VERSION)
    return known, {of.id: of for of in unseen if of.id not in known}


def _why(length: int) -> str:
    if length <= MAX_RENDERED:
        return _TOO_MUCH
    cut = f" These are the first {MAX_PLAIN:,} of {length:,}; the REST API has all." if length > MAX_PLAIN else ""
    return _TOO_LONG + cut
