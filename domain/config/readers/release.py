"""`release`: what a job releases when it has succeeded. Source: docs/reference/ci-yaml.md, "Release"."""

import re
from dataclasses import replace
from datetime import datetime
from typing import Final

from domain.config.plan import Document
from domain.config.readers.variables import scalar_text
from domain.config.reading import checks
from domain.config.reading.documents import Key, Shape, read_shape
from domain.config.reading.field import Field
from domain.config.reading.tree import Items, Map

LINK_TYPES: Final = ("runbook", "package", "image", "other")
"""Values of a link's `link_type`."""

_NO_REF: Final = re.compile(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//|/\.|\.lock(?:/|\Z)|\A[-/.]|[/.]\Z")
"""What no name of a ref may hold."""


def read_release(field: Field) -> Document | None:
    """A mapping that has at least the tag's name and a description."""
    return read_shape(field, RELEASE)


def _filepath(field: Field) -> str | None:
    path = checks.filled_text(field)
    if path is not None and not path.startswith(("/", "$")):
        field.fault("must start with a slash")
    return path


LINK: Final[Shape] = {
    "name": Key(checks.filled_text, required=True),
    "url": Key(checks.filled_text, required=True),
    "link_type": Key(lambda field: checks.choice(field, LINK_TYPES)),
    "filepath": Key(_filepath),
}
"""Keys of an item of `release:assets:links`."""


def _read_link(field: Field) -> Document | None:
    """GitLab does not look at the keys of a link: unknown ones say nothing."""
    assert isinstance(field.value, Map)
    unknown = [key for key in field.value if key not in LINK]
    if unknown:
        field.issues.warn(f"{field.label} contains unknown keys: {', '.join(unknown)}", field.path, field.place)
    known = Map(field.value.place, field.value.places)
    known.update({key: value for key, value in field.value.items() if key in LINK})
    return read_shape(replace(field, value=known), LINK)


def _links(field: Field) -> list[Document] | None:
    if not isinstance(field.value, Items) or not all(isinstance(link, Map) for link in field.value):
        field.fault("should be an array of hashes")
        return None
    if not field.value:
        field.fault("can't be blank")
    path = field.path + ":link"
    links = (
        _read_link(Field(link.value, path, f"{path} config", link.place, field.issues)) for link in field.elements()
    )
    return [link for link in links if link is not None]


ASSETS: Final[Shape] = {"links": Key(_links, required=True)}
"""Keys of `release:assets`."""


def _name(field: Field) -> str | None:
    """A text, or a number as its text."""
    return scalar_text(field.value) if isinstance(field.value, int | float) else checks.text(field)


def _ref(field: Field) -> str | None:
    ref = checks.text(field)
    if ref and _NO_REF.search(ref):
        field.fault("must be a valid ref")
    return ref


def _milestones(field: Field) -> list[str] | None:
    found = checks.strings_or_string(field)
    return None if found is None else list(found)


def _released_at(field: Field) -> str | None:
    """A point in time as ISO 8601 writes it."""
    try:
        datetime.fromisoformat(field.value if isinstance(field.value, str) else "")
    except ValueError:
        field.fault("must be a valid datetime; write it by ISO 8601, as '2030-01-31T12:00:00Z'")
        return None
    return str(field.value)


RELEASE: Final[Shape] = {
    "tag_name": Key(checks.filled_text, required=True),
    "tag_message": Key(checks.text),
    "name": Key(_name),
    "description": Key(checks.filled_text, required=True),
    "ref": Key(_ref),
    "milestones": Key(_milestones),
    "released_at": Key(_released_at),
    "assets": Key(lambda field: read_shape(field, ASSETS), nested=True),
}
"""Keys of `release`."""
