"""What a page offers to whoever sees it: links, and forms with what they send as they stand."""

from collections.abc import Mapping
from html.parser import HTMLParser
from typing import NamedTuple
from urllib.parse import urljoin


class Offer(NamedTuple):
    """A link (GET, without fields), or a form."""

    method: str
    url: str
    fields: tuple[tuple[str, str], ...] = ()


class _Reader(HTMLParser):
    """Collects those of one page; a button may lead somewhere else than its form."""

    def __init__(self, url: str) -> None:
        super().__init__()
        self.found: set[Offer] = set()
        self._url = url
        self._forms: list[tuple[str, set[str], list[tuple[str, str]]]] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attributes}
        if tag == "a" and "href" in values:
            self.found.add(Offer("GET", urljoin(self._url, values["href"])))
        elif tag == "form":
            address = urljoin(self._url, values.get("action", ""))
            self._forms.append((values.get("method", "get").upper(), {address}, []))
        elif self._forms:
            _, addresses, fields = self._forms[-1]
            if "formaction" in values:
                addresses.add(urljoin(self._url, values["formaction"]))
            elif tag == "input" and "name" in values and _is_sent(values):
                fields.append((values["name"], values.get("value", "")))

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            method, addresses, fields = self._forms.pop()
            self.found |= {Offer(method, address, tuple(fields)) for address in addresses}


def _is_sent(values: Mapping[str, str]) -> bool:
    return values.get("type") not in {"checkbox", "radio"} or "checked" in values


def offers_of(page: str, url: str) -> set[Offer]:
    """All of a page at this URL."""
    reader = _Reader(url)
    reader.feed(page)
    return reader.found
