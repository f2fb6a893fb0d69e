"""Putting the values of inputs into a file, once for all rounds. Source: docs/reference/ci-yaml.md, "Inputs"."""

from collections.abc import Mapping, Sequence
from typing import Any

from domain.config.including.include_loader import Opened
from domain.config.inputs.header import Header, read_header, read_shared_inputs, with_shared
from domain.config.inputs.inputs import input_values
from domain.config.inputs.interpolation import interpolate
from domain.config.reading.filled import Filled, FilledKey, exact, size_of_filled
from domain.config.reading.issues import MAX_ISSUES, Issues
from domain.config.reading.parsed_files import ParsedFiles
from domain.config.reading.source import Source
from domain.config.reading.tree import Map, Place, size_of
from domain.config.rules.scope import Scope
from domain.errors import ConfigInvalid


class Filling:
    """Fills in the files of one compilation, or takes what was made of the same before."""

    def __init__(self, parsed: ParsedFiles, scope: Scope, masked: frozenset[str], issues: Issues) -> None:
        """`scope` knows the variables that a block may ask for, `masked` names those that it must not show."""
        self._parsed = parsed
        self._scope = scope
        self._masked = masked
        self._issues = issues

    def filled(
        self, opened: Opened, shared: Sequence[Source | None], given: Mapping[str, Any], place: Place
    ) -> Filled | None:
        """A file that has a header with the values of its inputs; None if that is not possible, which was noted.

        `shared` are the files of its `spec:include`, None for each that is not known or wrong.
        """
        key = _key(opened, shared, given, place)
        known = self._parsed.filled(key) if key else None
        if known is not None and self._holds(known):
            return known
        before, warned = len(self._issues), len(self._issues.warnings)
        saw: dict[str, str | None] = {}
        root = self._made(opened, shared, given, place, saw)
        if root is None:
            return None
        is_right = len(self._issues) == before and len(self._issues.warnings) == warned
        size = size_of_filled(key, root) if key and is_right else 0
        found = Filled(root, size_of(root) if root is not opened.source.root else 0, tuple(saw.items()), size)
        if key and is_right:
            self._parsed.keep_filled(key, found)
        return found

    def _holds(self, known: Filled) -> bool:
        """Whether the variables are what they were. They are asked for in the order in which filling in would ask."""
        return all(name not in self._masked and self._scope.get(name) == value for name, value in known.saw)

    def _made(
        self,
        opened: Opened,
        shared: Sequence[Source | None],
        given: Mapping[str, Any],
        place: Place,
        saw: dict[str, str | None],
    ) -> Map | None:
        source, before = opened.source, len(self._issues)
        header = self._header(source, shared)
        if header is None:
            return None
        values = input_values(header, given, self._issues, place, f"`{opened.name}`" if opened.file else "")
        if len(self._issues) > before:
            return None
        facts = {name: text for name, text in opened.around.component.items() if name in header.component}

        def get(name: str) -> str | None:
            saw[name] = self._scope.get(name)
            return saw[name]

        try:
            root = interpolate(source.root, values, facts, self._issues, get=get, masked=self._masked)
        except ConfigInvalid:
            if len(self._issues) >= MAX_ISSUES:
                raise
            return None
        return root

    def _header(self, source: Source, shared: Sequence[Source | None]) -> Header | None:
        """The header with the inputs of its `spec:include`; None if one of those files is missing."""
        assert source.header is not None
        header = read_header(source.header, self._issues)
        inputs = [read_shared_inputs(one.root, self._issues) for one in shared if one is not None]
        if header.include is None:
            return header
        return with_shared(header, inputs, self._issues) if len(inputs) == len(shared) else None


def _key(opened: Opened, shared: Sequence[Source | None], given: Mapping[str, Any], place: Place) -> FilledKey | None:
    """What decides what a file becomes; None if that is not known, or nothing that can be compared."""
    known = [one.written for one in shared if one is not None]
    values = exact((*given, *given.values()))
    if values is None or len(known) < len(shared):
        return None
    places = given.places if isinstance(given, Map) else {}
    at = tuple(places.get(name, place) for name in given)
    return FilledKey((opened.source.written, *known), (at, values), tuple(opened.around.component.items()))
