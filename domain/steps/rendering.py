"""Expressions in steps: what they see, and whether what they give is sensitive, since something sensitive went into it.

Source: docs/reference/steps.md, "What expressions see"; "Moa expressions".
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from domain.errors import Invalid
from domain.moa.expression import is_plain, render
from domain.moa.values import Value

MAX_VALUE: Final = 4 * 1024 * 1024
"""Characters of a text that expressions may make."""


@dataclass(frozen=True, slots=True)
class Known:
    """A value, and whether nobody may read it in a log."""

    value: Value
    is_sensitive: bool = False


@dataclass(frozen=True, slots=True)
class Names:
    """What the expressions of one step may use. `files` are the paths: `work_dir`, `step_dir`, `output_file` ..."""

    inputs: Mapping[str, Known] = field(default_factory=dict)
    env: Mapping[str, Known] = field(default_factory=dict)
    variables: Mapping[str, Known] = field(default_factory=dict)
    steps: Mapping[str, Mapping[str, Known]] = field(default_factory=dict)
    """By the name of a step: its outputs."""
    files: Mapping[str, str] = field(default_factory=dict)


class _Watch:
    """Notes whether something sensitive was looked at."""

    __slots__ = ("is_touched",)

    def __init__(self) -> None:
        self.is_touched = False


class _Watched(dict[str, Value]):
    """Values by name, of which some are sensitive. Whoever goes through all of them has seen these."""

    def __init__(self, known: Mapping[str, Known], watch: _Watch) -> None:
        super().__init__({name: one.value for name, one in known.items()})
        self._sensitive = frozenset(name for name, one in known.items() if one.is_sensitive)
        self._watch = watch

    def __getitem__(self, key: str) -> Value:
        self._watch.is_touched |= key in self._sensitive
        return super().__getitem__(key)

    def __iter__(self) -> Iterator[str]:
        self._watch.is_touched |= bool(self._sensitive)
        return super().__iter__()

    def items(self) -> Any:
        """Every name with its value, as JSON writes them."""
        self._watch.is_touched |= bool(self._sensitive)
        return super().items()


def rendered(written: Value, names: Names) -> Known:
    """What is written, with the expressions in its texts evaluated, however deep they stand. Raises `Invalid`.

    A text that is one expression alone becomes what that gives; keys of mappings stay as they are.
    """
    if isinstance(written, str) and is_plain(written) and len(written) <= MAX_VALUE:
        return Known(written)  # so a sequence of many steps does not gather all their outputs for each word
    watch = _Watch()
    value = _rendered(written, _context(names, watch))
    return Known(_plain(value), watch.is_touched)


def rendered_text(written: str, names: Names) -> Known:
    """The same for what must be a text: a word of a command, a variable of the environment. Raises `Invalid`."""
    found = rendered(written, names)
    if not isinstance(found.value, str):
        raise Invalid(f"`{written}` gives no text; convert it with str()")
    return found


def _context(names: Names, watch: _Watch) -> dict[str, Value]:
    variables = _Watched(names.variables, watch)
    return {
        "inputs": _Watched(names.inputs, watch),
        "env": _Watched(names.env, watch),
        "vars": variables,
        "job": variables,
        "steps": {name: {"outputs": _Watched(outputs, watch)} for name, outputs in names.steps.items()},
        **names.files,
    }


def _rendered(written: Value, context: Mapping[str, Value]) -> Value:
    if isinstance(written, str):
        found = render(written, context)
        if isinstance(found, str) and len(found) > MAX_VALUE:
            raise Invalid(f"the expressions make a text of {len(found):,} characters; at most {MAX_VALUE:,} are taken")
        return found
    if isinstance(written, Mapping):
        return {key: _rendered(value, context) for key, value in written.items()}
    if isinstance(written, list | tuple):
        return [_rendered(value, context) for value in written]
    return written


def _plain(value: Value) -> Value:
    """What is given away is watched no more; all of it counts as seen."""
    if isinstance(value, Mapping):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_plain(inner) for inner in value]
    return value
