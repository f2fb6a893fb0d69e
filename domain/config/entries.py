"""Keywords and what reads them: a table for those of a job, some of which may also stand in `default`."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from domain.config import checks
from domain.config.artifacts import read_artifacts
from domain.config.durations import MONTH
from domain.config.field import Field
from domain.config.image import read_image
from domain.config.keywords import WHEN
from domain.config.needs import read_dependencies, read_needs
from domain.config.parallel import read_parallel
from domain.config.recovery import read_allow_failure, read_retry
from domain.config.tree import Items, Map, Value
from domain.config.variables import JOB_KEYS, read_variables

TAGS_LIMIT: Final = 50
"""A job has fewer tags than this (reference: CI YAML, section 16)."""


def _tags(entry: Field) -> tuple[str, ...] | None:
    tags = checks.strings(entry)
    if tags is not None and len(tags) >= TAGS_LIMIT:
        entry.fault(f"must be less than the limit of {TAGS_LIMIT} tags")
    return tags


Reader = Callable[[Field], object]

ENTRY_READERS: Final[Mapping[str, Reader]] = {
    "script": checks.commands,
    "before_script": checks.commands,
    "after_script": checks.commands,
    "stage": checks.text,
    "variables": lambda entry: read_variables(entry, JOB_KEYS),
    "needs": read_needs,
    "artifacts": read_artifacts,
    "allow_failure": read_allow_failure,
    "tags": _tags,
    "image": read_image,
    "parallel": read_parallel,
    "timeout": lambda entry: checks.duration(entry, MONTH),
    "retry": read_retry,
}
"""Keywords that GitLab checks as entries of their own; those of `default` are among them."""

ATTRIBUTE_READERS: Final[Mapping[str, Reader]] = {
    "when": lambda attribute: checks.choice(attribute, WHEN),
    "dependencies": read_dependencies,
}
"""Keywords that GitLab checks as a part of the job."""


class Entries:
    """Reads the keywords of one configuration's jobs.

    Jobs that extend the same base share its values. Each value is read once: that is quick, and what is wrong with it
    is told once, at its one place in the text, and not again for every job.
    """

    def __init__(self) -> None:
        """Nothing was read yet."""
        self._read: dict[tuple[str, int], tuple[Value, object]] = {}

    def read(self, config: Field) -> dict[str, Any]:
        """The value of every given keyword that has a reader; what could not be read is left out."""
        assert isinstance(config.value, Map)
        found: dict[str, Any] = {}
        for key, value in config.value.items():
            if value is None:
                continue
            entry = self._entry(config, key, value)
            if entry is not None:
                found[key] = entry
        return found

    def _entry(self, config: Field, key: str, value: Value) -> object:
        # The memory holds the value itself, or another one could come to stand at its address.
        if isinstance(value, Map | Items) and (key, id(value)) in self._read:
            return self._read[key, id(value)][1]
        if key in ENTRY_READERS:
            entry = ENTRY_READERS[key](config.entry(key))
        elif key in ATTRIBUTE_READERS:
            entry = ATTRIBUTE_READERS[key](config.attribute(key))
        else:
            return None
        if isinstance(value, Map | Items):
            self._read[key, id(value)] = (value, entry)
        return entry
