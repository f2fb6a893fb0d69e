"""The variables that one decision sees. Source: docs/reference/ci-yaml.md, "Rules", "Variables"."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple, TypeAlias

from domain.config.plan import Variable
from domain.config.why import HIDDEN

DEEPEST: Final = 20
"""Variables within variables; deeper ones stay as they are written."""
MAX_LENGTH: Final = 8_192
"""Characters of an expanded text; a longer one stays as it is written."""

_PLAIN: Final = re.compile(
    r"%%|\$(?P<plain>[A-Za-z_]\w*)|\$\{(?P<braces>[A-Za-z_]\w*)\}|%(?P<percent>[A-Za-z_]\w*)%", re.ASCII
)
"""What refers to a variable in a path or a tag, where no `$$` stands for a dollar."""
_REFERENCE: Final = re.compile(
    r"\$\$|%%|\$(?P<plain>[A-Za-z_]\w*)|\$\{(?P<braces>[A-Za-z_]\w*)\}|%(?P<percent>[A-Za-z_]\w*)%", re.ASCII
)


def names_in(text: str) -> tuple[str, ...]:
    """The variables that a text refers to, each once."""
    found = (match[match.lastgroup] for match in _PLAIN.finditer(text) if match.lastgroup)
    return tuple(dict.fromkeys(found))


class Layer(dict[str, str]):
    """Values by name, all of the same strength; those of `raw` names are never expanded.

    `private` ones are neither the server's nor written in the configuration: not everybody who reads it may see them.
    """

    __slots__ = ("private", "raw")

    def __init__(self, variables: Mapping[str, Variable], *, private: bool = False) -> None:
        """The values of these variables."""
        super().__init__((name, variable.value) for name, variable in variables.items())
        self.raw = frozenset(name for name, variable in variables.items() if variable.raw)
        self.private = private


class _Found(NamedTuple):
    """A value, the layer that it is from, and whether it stays as it is."""

    value: str
    layer: int
    raw: bool


Within: TypeAlias = tuple[tuple[str, int], ...]
"""The variables whose values a text is in, each with the layer of its value."""


class Scope:
    """Values by name from several layers, the strongest first; whoever asks for a name is written down in `reads`."""

    def __init__(
        self,
        layers: Sequence[Mapping[str, str]],
        hidden: frozenset[str] = frozenset(),
        reads: set[str] | None = None,
    ) -> None:
        """`hidden` are names whose values are never shown; `reads` is added to, and may be shared between scopes."""
        self._layers = tuple(layer for layer in layers if layer)
        self._hidden = hidden
        self._reads: set[str] = set() if reads is None else reads
        self._expansions: dict[tuple[str, int, str | None], str | None] = {}

    def get(self, name: str) -> str | None:
        """The value as it is, None if it is not defined."""
        self._reads.add(name)
        found = self._find(name)
        return found and found.value

    def expand(self, text: str, missing: str | None = None) -> str:
        """Put in the values of `$NAME`, `${NAME}` and `%NAME%`, themselves expanded unless they are raw.

        A variable within its own value means its weaker definition. What is not defined becomes `missing`, or stays as
        it is written, as `%%` does, and `$$` in a value.
        """
        return self._expanded(text, (), missing) if "$" in text or "%" in text else text

    def expand_once(self, text: str) -> str:
        """Put in the values as they are written; what is not defined stays."""

        def value(match: re.Match[str]) -> str:
            found = self.get(match[match.lastgroup]) if match.lastgroup else None
            return match[0] if found is None else found

        return _PLAIN.sub(value, text)

    def shown(self, names: Iterable[str]) -> Mapping[str, str | None]:
        """Values fit to be shown to who may run the pipeline."""
        found = {name: self._find(name) for name in names}
        return {name: one and (HIDDEN if name in self._hidden else one.value) for name, one in found.items()}

    def private(self, names: Iterable[str]) -> tuple[str, ...]:
        """Those of the names whose values are not for everybody who reads the configuration."""
        found = ((name, self._find(name)) for name in names)
        return tuple(name for name, one in found if one and getattr(self._layers[one.layer], "private", False))

    def signature(self, names: Iterable[str]) -> tuple[str | None, ...]:
        """All that clauses which speak of these variables can see: their values, and what these become in paths.

        Two scopes with the same signature give the same verdict.
        """
        values = {name: self.get(name) for name in names}
        referring = (name for name, value in values.items() if value and ("$" in value or "%" in value))
        return (*values.values(), *(self._expansion(name, (), 0, None) for name in referring))

    def _find(self, name: str, start: int = 0) -> _Found | None:
        for index in range(start, len(self._layers)):
            layer = self._layers[index]
            if name in layer:
                return _Found(layer[name], index, isinstance(layer, Layer) and name in layer.raw)
        return None

    def _expanded(self, text: str, within: Within, missing: str | None) -> str:
        """The number of variables that a text is in is bounded, and so is the depth."""
        parts: list[str] = []
        length = end = 0
        for match in (_REFERENCE if within else _PLAIN).finditer(text):
            value: str | None = match[0]
            if match.lastgroup and len(within) < DEEPEST:
                name = match[match.lastgroup]
                start = next((layer + 1 for inside, layer in reversed(within) if inside == name), 0)
                value = self._expansion(name, within, start, missing)
                value = missing if value is None else value
            parts += (text[end : match.start()], match[0] if value is None else value)
            length += len(parts[-1]) + len(parts[-2])
            end = match.end()
            if length > MAX_LENGTH:
                return text
        return "".join((*parts, text[end:]))

    def _expansion(self, name: str, within: Within, start: int, missing: str | None) -> str | None:
        """A variable's expanded value, found once: values that refer to others twice each would double the work."""
        key = (name, start, missing)
        if key not in self._expansions:
            self._reads.add(name)
            found = self._find(name, start)
            value = found and found.value
            if found is not None and not found.raw and ("$" in found.value or "%" in found.value):
                value = self._expanded(found.value, (*within, (name, found.layer)), missing)
            self._expansions[key] = value
        return self._expansions[key]
