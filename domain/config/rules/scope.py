"""The variables that one decision sees. Reference: CI YAML, sections 8 and 10."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from domain.config.why import HIDDEN

DEEPEST: Final = 20
"""Variables within variables; deeper ones stay as they are written."""
LONGEST: Final = 8_192
"""Characters of an expanded text; a longer one stays as it is written."""

_REFERENCE: Final = re.compile(
    r"\$\$|%%|\$(?P<plain>[A-Za-z_]\w*)|\$\{(?P<braces>[A-Za-z_]\w*)\}|%(?P<percent>[A-Za-z_]\w*)%", re.ASCII
)


def names_in(text: str) -> tuple[str, ...]:
    """The variables that a text refers to, each once."""
    found = (match[match.lastgroup] for match in _REFERENCE.finditer(text) if match.lastgroup)
    return tuple(dict.fromkeys(found))


class Scope:
    """Values by name from several layers, the strongest first; whoever asks for a name is written down in `reads`."""

    def __init__(
        self,
        layers: Sequence[Mapping[str, str]],
        masked: frozenset[str] = frozenset(),
        reads: set[str] | None = None,
    ) -> None:
        """`masked` are names whose values are never shown; `reads` is added to, and may be shared between scopes."""
        self._layers = tuple(layer for layer in layers if layer)
        self._masked = masked
        self._reads: set[str] = set() if reads is None else reads
        self._expansions: dict[str, str | None] = {}

    def get(self, name: str) -> str | None:
        """The value as it is, None if it is not defined."""
        self._reads.add(name)
        return self._value(name)

    def expand(self, text: str) -> str:
        """Put in the values of `$NAME`, `${NAME}` and `%NAME%`, themselves expanded.

        What is not defined, `$$`, `%%`, and a variable within its own value stay as they are written.
        """
        return self._expanded(text, ()) if "$" in text or "%" in text else text

    def shown(self, names: Iterable[str]) -> Mapping[str, str | None]:
        """Values fit to be shown: those of masked variables are hidden."""
        found = {name: self._value(name) for name in names}
        return {name: HIDDEN if value is not None and name in self._masked else value for name, value in found.items()}

    def signature(self, names: Iterable[str]) -> tuple[str | None, ...]:
        """All that clauses which speak of these variables can see: their values, and what these become in paths.

        Two scopes with the same signature give the same verdict.
        """
        values = tuple(map(self.get, names))
        return values + tuple(self.expand(value) for value in values if value and ("$" in value or "%" in value))

    def _value(self, name: str) -> str | None:
        for layer in self._layers:
            if name in layer:
                return layer[name]
        return None

    def _expanded(self, text: str, within: tuple[str, ...]) -> str:
        """`within` are the variables whose values this text is in; their number is bounded, and so is the depth."""
        parts: list[str] = []
        length = end = 0
        for match in _REFERENCE.finditer(text):
            name = match[match.lastgroup] if match.lastgroup else ""
            value = self._expansion(name, within) if name and name not in within and len(within) < DEEPEST else None
            parts += (text[end : match.start()], match[0] if value is None else value)
            length += len(parts[-1]) + len(parts[-2])
            end = match.end()
            if length > LONGEST:
                return text
        return "".join((*parts, text[end:]))

    def _expansion(self, name: str, within: tuple[str, ...]) -> str | None:
        """A variable's expanded value, found once: values that refer to others twice each would double the work."""
        if name not in self._expansions:
            value = self.get(name)
            if value is not None and ("$" in value or "%" in value):
                value = self._expanded(value, (*within, name))
            self._expansions[name] = value
        return self._expansions[name]
