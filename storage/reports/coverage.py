"""Reads coverage reports: Cobertura's and JaCoCo's XML.

An entry is a file: `{"file", "lines", "covered", "hits": {line: count}}`; `lines` and `covered` count its lines. The
summary counts those of all files.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Final, TypeAlias
from xml.etree.ElementTree import Element

from domain.errors import TooLarge
from storage.reports.content import Content, documents, text
from storage.reports.xml_elements import elements, require_root, tag

LINE_LIMIT: Final = 1_000_000
"""Lines of all files of one report."""
_DIGITS: Final = 9

Line: TypeAlias = tuple[str, int, int]
"""File, number of the line, how often it ran."""
_LineOf: TypeAlias = Callable[[Element, tuple[Element, ...]], Line | None]


def parse_cobertura(data: bytes) -> Content:
    """Read Cobertura's format: `class` elements with a `filename` hold `line` elements."""
    return _content(data, "Cobertura report", "coverage", _of_class)


def parse_jacoco(data: bytes) -> Content:
    """Read JaCoCo's format: `sourcefile` elements of a `package` hold `line` elements."""
    return _content(data, "JaCoCo report", "report", _of_source_file)


def _content(data: bytes, what: str, root: str, line_of: _LineOf) -> Content:
    hits: defaultdict[str, dict[int, int]] = defaultdict(dict)
    lines = 0
    for document in documents(data, what):
        for file, number, count in _lines(document, what, root, line_of):
            lines += 1
            if lines > LINE_LIMIT:
                raise TooLarge(f"The {what} has more than {LINE_LIMIT} lines; split it.")
            of_file = hits[file]
            of_file[number] = of_file.get(number, 0) + count
    entries = [
        {
            "file": file,
            "lines": len(of_file),
            "covered": sum(count > 0 for count in of_file.values()),
            "hits": {str(number): of_file[number] for number in sorted(of_file)},
        }
        for file, of_file in hits.items()
    ]
    totals = {name: sum(int(str(entry[name])) for entry in entries) for name in ("lines", "covered")}
    return Content(dict(totals), entries)


def _lines(document: bytes, what: str, root: str, line_of: _LineOf) -> Iterator[Line]:
    """Both formats come with a document type, which is never fetched."""
    for found in elements(document, what, {}, doctype=True):
        require_root(found, frozenset({root}), what)
        if tag(found[0]) == "line" and (line := line_of(*found)) is not None:
            yield line


def _of_class(element: Element, path: tuple[Element, ...]) -> Line | None:
    """A line of a class; those inside its methods are there a second time."""
    tags = [tag(parent) for parent in path]
    if tags[-2:] != ["class", "lines"]:
        return None
    file, number = text(path[-2].get("filename")), _number(element.get("number", ""))
    return (file, number, _number(element.get("hits", ""))) if file and number else None


def _of_source_file(element: Element, path: tuple[Element, ...]) -> Line | None:
    """A line of a source file: covered if one of its instructions ran."""
    if len(path) < 2 or tag(path[-1]) != "sourcefile":
        return None
    package, name = text(path[-2].get("name")), text(path[-1].get("name"))
    number = _number(element.get("nr", ""))
    file = f"{package}/{name}" if package else name
    return (file, number, _number(element.get("ci", ""))) if name and number else None


def _number(value: str) -> int:
    """A number of few digits; 0 for anything else."""
    return int(value) if value.isascii() and value.isdigit() and len(value) <= _DIGITS else 0
