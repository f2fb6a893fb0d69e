"""Interpolation: the values of inputs and of a component in place of blocks `$[[ ... ]]`.

Values are shared between aliases, so each is looked at once, and only what holds a block is built anew. Source:
docs/reference/ci-yaml.md, "Inputs".
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Final, NamedTuple, NoReturn

from domain.config.inputs.block_functions import MAX_TEXT, Functions
from domain.config.inputs.blocks import OPENING, Block, Known, blocks_of, is_later
from domain.config.inputs.input_types import text_of
from domain.config.reading.budget import DEPTH, NODES
from domain.config.reading.issues import Issues
from domain.config.reading.tree import Items, Map, Place, Reference, Value
from domain.errors import Invalid

MAX_BLOCKS: Final = 10_000
"""Different blocks in one file."""
MADE_CHARACTERS: Final = 8 * 1024 * 1024
"""Characters that interpolation may write in one file: a long value may stand in many places."""


def nothing(name: str) -> None:
    """The look-up that knows no variable."""


def interpolate(
    root: Map,
    values: Mapping[str, Value],
    component: Mapping[str, str],
    issues: Issues,
    *,
    get: Callable[[str], str | None] = nothing,
    masked: frozenset[str] = frozenset(),
) -> Map:
    """The configuration below a header, with a value in place of each block; the same object if it holds none.

    `values` are those of the header's inputs, `component` the facts that its `spec:component` lists. `get` knows the
    variables that `expand_vars` may use, `masked` names those it must not show. What is wrong with a block is noted
    for each place. Raises `ConfigInvalid` when a limit is exceeded.
    """
    walk = _Walk(Known({"inputs": values, "component": component}, Functions(get, masked)), issues)
    done = walk.value(root, root.place)
    assert isinstance(done.value, Map)
    return done.value


class _Done(NamedTuple):
    """A finished value; `size` counts the values in it with itself, `height` its levels of containers."""

    value: Value
    size: int = 1
    height: int = 0


def _summed(before: Iterable[Value], after: list[_Done]) -> tuple[int, int, bool]:
    """Size and height of the container of some values, and whether any of them is another than before."""
    size = 1 + sum(done.size for done in after)
    height = 1 + max((done.height for done in after), default=0)
    return size, height, any(done.value is not value for done, value in zip(after, before, strict=True))


class _Walk:
    """Goes through a tree once and remembers containers by identity: they live as long as the tree."""

    def __init__(self, known: Known, issues: Issues) -> None:
        self._known = known
        self._issues = issues
        self._done: dict[int, _Done] = {}
        self._measured: dict[int, _Done] = {}
        self._blocks: dict[str, Value | Invalid] = {}
        self._texts: dict[str, str | None] = {}
        self._spliced = 0
        self._made = 0

    def value(self, value: Value, place: Place) -> _Done:
        """A value with its blocks replaced. Recursion goes as deep as the tree, which has `DEPTH` levels at most."""
        if isinstance(value, str):
            if len(value) * 4 > MAX_TEXT:
                self._check_text(value, place)
            return self._measure(self._replaced(value, place), place) if OPENING in value else _Done(value)
        if not isinstance(value, Map | Items):
            return _Done(value)
        known = self._done.get(id(value))
        if known is None:
            known = self._map(value) if isinstance(value, Map) else self._items(value)
            self._check_size(known, place)
            self._done[id(value)] = known
        return known

    def _map(self, node: Map) -> _Done:
        below = [self.value(value, node.places[key]) for key, value in node.items()]
        names = [self._key(key, node.places[key]) if OPENING in key else key for key in node]
        size, height, changed = _summed(node.values(), below)
        if changed or any(name is not key for name, key in zip(names, node, strict=True)):
            result = Map(node.place)
            for key, name, done in zip(node, names, below, strict=True):
                result.put(name, done.value, node.places[key])
            return _Done(result, size, height)
        return _Done(node, size, height)

    def _items(self, node: Items) -> _Done:
        below = [self.value(value, place) for value, place in zip(node, node.places, strict=True)]
        size, height, changed = _summed(node, below)
        if not changed:
            return _Done(node, size, height)
        result = Reference(node.place) if isinstance(node, Reference) else Items(node.place)
        for value, place, done in zip(node, node.places, below, strict=True):
            if isinstance(value, str) and isinstance(done.value, Items):
                self._splice(result, done.value, place)
            else:
                result.put(done.value, place)
        return _Done(result, size, height)

    def _splice(self, result: Items, elements: Items, place: Place) -> None:
        """Put the elements of a list in place of the block that is one element."""
        self._spliced += len(elements)
        if self._spliced > NODES:
            self._too_large(place)
        for element in elements:
            result.put(element, place)

    def _key(self, key: str, place: Place) -> str:
        """A key with its blocks replaced; one that is nothing but a block becomes text too."""
        value = self._replaced(key, place)
        if isinstance(value, Map | Items):
            self._issues.add(f"the key `{key}` becomes a list or a mapping; a key must be plain text", place=place)
            return key
        return text_of(value, MAX_TEXT) or ""

    def _replaced(self, text: str, place: Place) -> Value:
        """The typed value of a text that is one block; else the text with its blocks replaced."""
        blocks = [block for block in blocks_of(text) if not is_later(block.expression)]
        if not blocks:
            return text
        values = [self._evaluated(block.expression, place) for block in blocks]
        wrong = [value for value in values if isinstance(value, Invalid)]
        for fault in wrong:
            self._issues.add(str(fault), place=place)
        if wrong:
            return text
        first = values[0]
        if blocks[0].start == 0 and blocks[0].end == len(text) and not isinstance(first, Invalid):
            if isinstance(first, str):
                self._check_text(first, place)
            return first
        return self._joined(text, blocks, place)

    def _evaluated(self, expression: str, place: Place) -> Value | Invalid:
        """The value of a block or what is wrong with it, found once for all equal ones."""
        if expression not in self._blocks:
            if len(self._blocks) == MAX_BLOCKS:
                self._issues.fail(f"too many interpolation blocks; the limit is {MAX_BLOCKS:,}", place=place)
            try:
                value: Value | Invalid = self._known.value(expression)
            except Invalid as error:
                value = error
            if isinstance(value, str):
                self._count(len(value), place)
            self._blocks[expression] = value
        return self._blocks[expression]

    def _joined(self, text: str, blocks: list[Block], place: Place) -> str:
        """The text with values between what stands around the blocks."""
        parts: list[str] = []
        position = length = 0
        for block in blocks:
            part = self._text(block.expression, place)
            parts += text[position : block.start], part
            length += block.start - position + len(part)
            position = block.end
            if length > MAX_TEXT:
                self._text_too_large(place)
        self._count(length + len(text) - position, place)
        joined = "".join((*parts, text[position:]))
        self._check_text(joined, place)
        return joined

    def _text(self, expression: str, place: Place) -> str:
        """The value of a block as text."""
        if expression not in self._texts:
            value = self._blocks[expression]
            self._texts[expression] = None if isinstance(value, Invalid) else text_of(value, MAX_TEXT)
        text = self._texts[expression]
        if text is None:
            self._text_too_large(place)
        return text

    def _measure(self, value: Value, place: Place) -> _Done:
        """A value that takes the place of a block, which is not looked into for further blocks."""
        if not isinstance(value, Map | Items):
            return _Done(value)
        known = self._measured.get(id(value))
        if known is None:
            parts = list(value.values() if isinstance(value, Map) else value)
            size, height, _ = _summed(parts, [self._measure(part, place) for part in parts])
            known = self._measured[id(value)] = _Done(value, size, height)
        self._check_size(known, place)
        return known

    def _count(self, characters: int, place: Place) -> None:
        self._made += characters
        if self._made > MADE_CHARACTERS:
            self._issues.fail(
                f"config too large: blocks become more than {MADE_CHARACTERS:,} characters of text; "
                "use shorter values or fewer blocks",
                place=place,
            )

    def _check_size(self, done: _Done, place: Place) -> None:
        if done.size > NODES:
            self._too_large(place)
        if done.height > DEPTH:
            self._issues.fail(f"The configuration is nested too deep; the limit is {DEPTH} levels", place=place)

    def _check_text(self, text: str, place: Place) -> None:
        if len(text) * 4 > MAX_TEXT and len(text.encode()) > MAX_TEXT:
            self._text_too_large(place)

    def _too_large(self, place: Place) -> NoReturn:
        self._issues.fail(f"config too large: inputs make it grow to more than {NODES:,} values", place=place)

    def _text_too_large(self, place: Place) -> NoReturn:
        self._issues.fail(f"config node too large: this text has more than {MAX_TEXT:,} bytes", place=place)
