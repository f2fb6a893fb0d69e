"""The elements of an XML report, one after the other, in time and memory that grow with its length and no faster.

Source: docs/reference/reliability.md, "Hostile files".
"""

import codecs
import re
from collections.abc import Iterator, Mapping
from typing import Final, TypeAlias
from xml.etree.ElementTree import Element, ParseError

from defusedxml import DefusedXmlException
from defusedxml.ElementTree import DefusedXMLParser

from domain.errors import Invalid

DEPTH_LIMIT: Final = 32
"""Elements inside each other."""
_PIECE: Final = 64 * 1024
"""Bytes that are parsed at once."""
_DECLARED: Final = re.compile(
    rb"""\s{0,100}<\?xml\s[^>]{0,200}?encoding\s{0,20}=\s{0,20}["']([A-Za-z0-9_.:-]{1,40})["']"""
)
_DECODED: Final = {
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "gb18030": "gb18030",
    "big5": "cp950",
    "cp950": "cp950",
    "big5hkscs": "big5hkscs",
    "shift_jis": "cp932",
    "cp932": "cp932",
    "windows-31j": "cp932",
    "euc_jp": "euc_jp",
    "euc_kr": "cp949",
    "cp949": "cp949",
}
"""Encodings that the parser does not know, each by what decodes it: Windows writes more signs than the name says."""

Kept: TypeAlias = Mapping[str, frozenset[str]]
"""By the tag of an element the tags of its children that stay in it: the first one of each."""
Found: TypeAlias = tuple[Element, tuple[Element, ...]]
"""An element at its end, and those around it, the root first."""


def elements(document: bytes, what: str, kept: Kept, *, doctype: bool = False) -> Iterator[Found]:
    """Every element of an XML text at its end.

    Those around it have their attributes; of children and text only what `kept` names is there. `doctype` permits a
    document type that defines nothing; it is never fetched. Raises Invalid, which calls the text `what`.
    """
    target = _Target(what, kept)
    try:
        document, encoding = _readable(document)
        parser = DefusedXMLParser(target=target, encoding=encoding, forbid_dtd=not doctype)
        for start in range(0, len(document), _PIECE):
            parser.feed(document[start : start + _PIECE])
            yield from target.taken()
        parser.close()
        yield from target.taken()
    except ParseError as error:
        line, column = error.position
        raise Invalid(f"The {what} is broken XML at line {line}, column {column + 1}: {error}") from error
    except DefusedXmlException as error:
        raise Invalid(
            f"The {what} has a document type or entities, which are refused; remove them. ({error})"
        ) from error
    except (LookupError, ValueError) as error:
        raise Invalid(f"The {what} has an encoding that cannot be read: {error}") from error


def _readable(document: bytes) -> tuple[bytes, str | None]:
    """A text that the parser can read, and its encoding if that is not what the text says."""
    declared = _DECLARED.match(document)
    if declared is None:
        return document, None
    name = declared[1].decode("ascii").lower()
    decoded_by = _DECODED.get(name) or _DECODED.get(codecs.lookup(name).name)
    return (document, None) if decoded_by is None else (document.decode(decoded_by).encode(), "utf-8")


def require_root(found: Found, tags: frozenset[str], what: str) -> None:
    """Raise Invalid unless the outermost element is one of these."""
    element, path = found
    root = path[0] if path else element
    if tag(root) not in tags:
        raise Invalid(f"The report is no {what}: its root is <{root.tag[:80]}>.")


def tag(element: Element) -> str:
    """The tag without a name space."""
    return element.tag.rpartition("}")[2]


class _Target:
    """What the parser tells of a text. An element is put into the one around it only if that one keeps it.

    Nothing is put in and taken out again: to take one out of many costs as much as there are.
    """

    def __init__(self, what: str, kept: Kept) -> None:
        self._what = what
        self._kept = kept
        self._path: list[Element] = []
        self._ended: list[Found] = []
        self._text: list[str] | None = None

    def taken(self) -> Iterator[Found]:
        """What has ended since the last time."""
        ended, self._ended = self._ended, []
        yield from ended

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if len(self._path) >= DEPTH_LIMIT:
            raise Invalid(f"The {self._what} has elements more than {DEPTH_LIMIT} deep.")
        self._close_text()
        element = Element(name, attributes)
        if self._path and self._keeps(self._path[-1], element):
            self._path[-1].append(element)
            self._text = []
        self._path.append(element)

    def data(self, text: str) -> None:
        if self._text is not None:
            self._text.append(text)

    def end(self, _name: str) -> None:
        self._close_text()
        element = self._path.pop()
        self._ended.append((element, tuple(self._path)))

    def _keeps(self, parent: Element, child: Element) -> bool:
        wanted = self._kept.get(tag(parent), frozenset())
        return tag(child) in wanted and all(tag(other) != tag(child) for other in parent)

    def _close_text(self) -> None:
        """The text of an element is what stands before its first child."""
        if self._text is not None:
            self._path[-1].text = "".join(self._text)
            self._text = None
