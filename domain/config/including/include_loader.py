"""Getting the text of included files and reading it, each once in a round.

Source: docs/reference/ci-yaml.md, "Includes", "Limits".
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from domain.config.including.include_files import MAX_INCLUDES, TOO_MANY, IncludeContext, IncludeFile
from domain.config.including.include_items import IncludeKind
from domain.config.including.integrity import integrity_of
from domain.config.reading.budget import NODES
from domain.config.reading.issues import Issues
from domain.config.reading.source import Source
from domain.config.reading.tree import Place
from domain.config.sources import Absent, Fetched, Origin, Request, Sources
from domain.errors import ConfigInvalid

MAX_VALUES: Final = NODES
"""Values in all included files together, counted again when inputs make another file of the same text."""
TOTAL_BYTES: Final = 300 * 1024 * 1024
"""All included texts together (docs/reference/ci-yaml.md, "Limits")."""


@dataclass(frozen=True, slots=True)
class Opened:
    """A file that was read, and what its own includes depend on; `file` is None for the main one."""

    source: Source
    around: IncludeContext
    file: IncludeFile | None = None

    @property
    def name(self) -> str:
        """The name in places; empty for the main file."""
        return self.file.name if self.file is not None else ""


class IncludeLoader:
    """Opens the files of one compilation and keeps count of them."""

    def __init__(self, sources: Sources, issues: Issues) -> None:
        """Nothing was opened yet."""
        self._sources = sources
        self._issues = issues
        self._read: dict[Request, Source | None] = {}
        self._count = 0
        self._bytes = 0
        self._values = 0

    def count(self, place: Place) -> None:
        """Take one more file into account; raises `ConfigInvalid` when there are too many."""
        self._count += 1
        if self._count > MAX_INCLUDES:
            self._issues.fail(TOO_MANY, "include", place)

    def weigh(self, values: int, place: Place) -> None:
        """Take the values of a file into account; raises `ConfigInvalid` when there are too many."""
        self._values += values
        if self._values > MAX_VALUES:
            said = f"The included files hold more than {MAX_VALUES:,} values together; include fewer or smaller ones"
            self._issues.fail(said, "include", place)

    def open(self, file: IncludeFile, around: IncludeContext) -> Opened | None:
        """Read a file that is included from `around`; None if it is not known yet, or wrong, which was noted."""
        answer = self._sources.ask(file.request)
        if answer is None:
            return None
        if isinstance(answer, Absent):
            self._note(file, around, answer.message or file.missing)
            return None
        assert isinstance(answer, Fetched), f"{file.request} was answered by {answer}"
        if not self._is_sound(file, around, answer):
            return None
        if file.request not in self._read:
            self._read[file.request] = self._source(file, answer.text)
        source = self._read[file.request]
        if source is None:
            self._note(file, around, f"Included file `{file.name}` does not have valid YAML syntax!")
            return None
        return Opened(source, _surroundings(file, around, answer), file)

    def _is_sound(self, file: IncludeFile, around: IncludeContext, answer: Fetched) -> bool:
        """Whether a text is there and, if the include says which, the right one."""
        if not answer.text.strip():
            self._note(file, around, f"{file.noun} is empty!")
            return False
        wanted = file.item.integrity
        if wanted and wanted != (found := integrity_of(answer.text)):
            said = f"Its content has the hash {found}, `integrity` says {wanted}; make sure that the change is wanted"
            self._note(file, around, f"{file.noun} failed integrity check! {said}")
            return False
        return True

    def _source(self, file: IncludeFile, text: str) -> Source | None:
        """Read a text; with issues of its own, since a mistake in one file must not hide the next file."""
        self._bytes += len(text.encode(errors="replace"))
        place = file.item.field.place
        if self._bytes > TOTAL_BYTES:
            said = f"Total size of combined CI/CD configuration is too big: it is limited to {TOTAL_BYTES:,} bytes"
            self._issues.fail(said, "include", place)
        apart = Issues(file.name)
        try:
            source = self._sources.parsed.read(text, apart, file.name)
        except ConfigInvalid:
            source = None
        self._issues.take(apart)
        if source is None:
            return None
        self.weigh(source.values, place)
        return source

    def _note(self, file: IncludeFile, around: IncludeContext, message: str) -> None:
        field = file.item.field
        self._issues.add(message + around.included_by(field.place, self._issues.file), field.path, field.place)


def _surroundings(file: IncludeFile, around: IncludeContext, answer: Fetched) -> IncludeContext:
    """What the includes of a file depend on. Remote files and templates belong to no project."""
    kind = file.kind
    by = (file.item.field.place, *around.by)
    if kind in (IncludeKind.REMOTE, IncludeKind.TEMPLATE):
        return IncludeContext(Origin(detached=True), by=by)
    if kind is IncludeKind.COMPONENT:
        return IncludeContext(answer.origin, component=_component(answer), by=by)
    if kind is IncludeKind.PROJECT:
        return IncludeContext(answer.origin, around.artifacts, by=by)
    component = around.component if kind is IncludeKind.LOCAL else {}
    return IncludeContext(around.origin, around.artifacts, component, by)


def _component(answer: Fetched) -> Mapping[str, str]:
    return {
        "name": answer.name,
        "sha": answer.sha,
        "version": answer.version,
        "reference": answer.reference,
    }
