"""The variables of a job by name: where each comes from, and what it takes the place of. Values are not known here."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

SERVER: Final = "the server"


@dataclass(frozen=True, slots=True)
class NamedVariable:
    """A variable: its name, whose definition counts, and whose does not (the strongest of them first)."""

    name: str
    source: str
    instead_of: tuple[str, ...] = ()


def named(layers: Iterable[tuple[str, Iterable[str]]]) -> Sequence[NamedVariable]:
    """Each variable once, by name; `layers` are sources with their names, the weakest first."""
    found: dict[str, list[str]] = {}
    for source, names in layers:
        for name in names:
            sources = found.setdefault(name, [])
            if not sources or sources[-1] != source:
                sources.append(source)
    return [NamedVariable(name, sources[-1], tuple(reversed(sources[:-1]))) for name, sources in sorted(found.items())]


def differing(one: Iterable[NamedVariable], other: Iterable[NamedVariable]) -> Sequence[tuple[str, str, str]]:
    """Names that only one of two jobs has, or has from elsewhere: name, source in the one and in the other."""
    first = {variable.name: variable.source for variable in one}
    second = {variable.name: variable.source for variable in other}
    return [
        (name, first.get(name, ""), second.get(name, ""))
        for name in sorted({*first, *second})
        if first.get(name, "") != second.get(name, "")
    ]
