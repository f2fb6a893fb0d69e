"""Reading one file of a configuration. Source: docs/reference/ci-yaml.md, "YAML text", "Limits"."""

from dataclasses import dataclass
from typing import Final, NamedTuple

from domain.config.reading.budget import TEXT_BYTES
from domain.config.reading.issues import Issues
from domain.config.reading.tree import Items, Map, Place, Value, size_of
from domain.config.reading.yaml_text import parse

MAX_DOCUMENTS: Final = 2
"""Documents of one file."""


class Written(NamedTuple):
    """All that decides how a file is read: its text, its name in places, and the name of the main file."""

    text: str
    file: str
    main: str


@dataclass(frozen=True, slots=True)
class Source:
    """One file: the document with `spec`, if there is one, and the mapping of keywords and jobs."""

    written: Written
    header: Map | None
    root: Map
    values: int
    """How many values `root` has; shared ones count once."""


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
    written = parse(text, issues, file)
    issues.raise_if_any()
    filled = (one for one in zip(written, written.places, strict=True) if one[0] is not None)
    documents = Items(written.place, filled)
    if not documents:
        issues.fail("Invalid configuration format: the file is empty!", place=Place(1, 1, file))
    if len(documents) > MAX_DOCUMENTS:
        _say_too_many(documents, issues, is_included=bool(file))
    header, root = _parts(documents, issues)
    if not isinstance(root, Map):
        issues.fail(
            "Invalid configuration format: the file must be a mapping of keywords and jobs", place=Place(1, 1, file)
        )
    return Source(Written(text, file, issues.file), header, root, size_of(root))


def _say_too_many(documents: Items, issues: Issues, *, is_included: bool) -> None:
    """GitLab refuses such a main file, and reads the first two documents of an included one."""
    if not is_included:
        issues.fail(
            f"Invalid configuration format: there are {len(documents)} documents; the most are {MAX_DOCUMENTS}, "
            "a header with `spec` and the configuration. Remove the line `---` between them",
            place=documents.places[-1],
        )
    message = (
        "this third document and what follows it are not read: a file has a header with `spec` and the configuration; "
        "remove the line `---` above it"
    )
    issues.warn(message, place=documents.places[MAX_DOCUMENTS])


def _parts(documents: Items, issues: Issues) -> tuple[Map | None, Value]:
    """A document with `spec` before the configuration is a header; behind one that is none, nothing is read."""
    first = documents[0]
    if len(documents) < MAX_DOCUMENTS:
        return None, first
    if isinstance(first, Map) and "spec" in first:
        return first, documents[1]
    message = (
        "this second document is not read, since the first is no header with `spec`; remove the line `---` above it"
    )
    issues.warn(message, place=documents.places[1])
    return None, first
