"""Reading one file of a configuration. Reference: CI YAML, sections 1 and 16."""

from dataclasses import dataclass

from domain.config.reading.budget import TEXT_BYTES
from domain.config.reading.issues import Issues
from domain.config.reading.tree import Items, Map, Place
from domain.config.reading.yaml_text import parse


@dataclass(frozen=True, slots=True)
class Source:
    """One file: the document with `spec`, if there is one, and the mapping of keywords and jobs."""

    header: Map | None
    root: Map


def read(text: str, issues: Issues, file: str = "") -> Source:
    """One file of a configuration. `file` is its name in places, empty for the main one.

    Raises `ConfigInvalid` for anything that is not one mapping, or a header and one.
    """
    try:
        size = len(text.encode())
    except UnicodeEncodeError as error:
        place = Place(text.count("\n", 0, error.start) + 1, error.start - text.rfind("\n", 0, error.start), file)
        issues.fail("Invalid configuration format: this character is not valid Unicode", place=place)
    if size > TEXT_BYTES:
        issues.fail(
            f"The configuration has {size:,} bytes; the limit is {TEXT_BYTES:,}. Split it or make it smaller",
            place=Place(1, 1, file),
        )
    documents = parse(text, issues, file)
    issues.raise_if_any()
    header = _header(documents, issues)
    root = documents[-1] if documents else None
    if not isinstance(root, Map):
        issues.fail(
            "Invalid configuration format: the file must be a mapping of keywords and jobs", place=Place(1, 1, file)
        )
    return Source(header, root)


def _header(documents: Items, issues: Issues) -> Map | None:
    """A document with `spec` before the configuration is a header; any other second document is a mistake."""
    header = documents[0] if len(documents) > 1 else None
    if header is None or (isinstance(header, Map) and "spec" in header and len(documents) == 2):
        return header
    return issues.fail(
        "Invalid configuration format: there is more than one document, and the first is no header with `spec`; "
        "remove the line `---` between them",
        place=documents.places[1],
    )
