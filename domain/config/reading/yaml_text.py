"""YAML to values with places, and back. The only file that knows the YAML library.

The composer works on libyaml's events instead of its nodes, with a stack of its own: so depth and size are checked
before anything is built, an alias costs nothing, and hostile nesting cannot exhaust the interpreter's stack. Source:
docs/reference/ci-yaml.md, "YAML text", "extends and !reference", "Limits".
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, NoReturn

import yaml

from domain.config.reading.budget import DEPTH, NODES, Budget
from domain.config.reading.excerpt import excerpt
from domain.config.reading.issues import Issues
from domain.config.reading.ruby_numbers import number_of_ruby
from domain.config.reading.tree import NOWHERE, Items, Map, Place, Reference, Value
from domain.config.reading.yaml_faults import PREFIX, fault_of
from domain.config.reading.yaml_stumble import Spot, Stumble

REFERENCE: Final = "!reference"
"""The one tag that is permitted."""

_BREAK: Final = re.compile(r"\r\n|[\r\n\x85\u2028\u2029]")
"""What ends a line in YAML."""
_CORE: Final = "tag:yaml.org,2002:"
_TEXT_TAGS: Final = frozenset({_CORE + "str", _CORE + "value", _CORE + "merge", "!"})
_NUMBER_AND_WORD_TAGS: Final = frozenset({_CORE + "int", _CORE + "float", _CORE + "bool", _CORE + "null"})
_MAX_NUMBER: Final = 100
"""Characters; longer numbers stay text, since Python refuses to print very long ones."""
_TOUCHY: Final = frozenset("+-.0123456789~fFnNoOtTyY")
"""What a plain text may begin with that is something else."""
_CONTAINER_TAGS: Final = frozenset({None, "!", _CORE + "map", _CORE + "seq"})


def parse(text: str, issues: Issues, file: str) -> Items:
    """All documents of a text. Raises `ConfigInvalid` for what is no YAML or outgrows the limits; notes wrong tags."""
    loader: Any = yaml.CSafeLoader(text)
    try:
        return _Composer(loader, issues, file).documents()
    except yaml.MarkedYAMLError as error:
        _refuse(text, error, issues, file)
    except yaml.reader.ReaderError as error:
        issues.fail(f"Invalid configuration format: {error.reason}", place=_place_of(text, error.position, file))
    finally:
        loader.dispose()


def _refuse(text: str, error: yaml.MarkedYAMLError, issues: Issues, file: str) -> NoReturn:
    """Tell a text that is no YAML, with the lines that show it."""
    at, began = _spot(error.problem_mark), _spot(error.context_mark)
    lines = _BREAK.split(text)
    stumble = Stumble(error.problem or "", error.context or "", at or began or Spot(1, 1), began, lines)
    fault = fault_of(stumble)
    place = Place(*fault.at, file)
    shown = excerpt(lines, place, fault.began.line if fault.began else 0)
    issues.fail(f"{PREFIX}{fault.message}", place=place, excerpt=shown)


def _spot(mark: Any) -> Spot | None:
    return Spot(mark.line + 1, mark.column + 1) if mark else None


def _place_of(text: str, offset: int, file: str) -> Place:
    """The place of a byte offset."""
    before = text.encode()[:offset].decode(errors="replace")
    return Place(before.count("\n") + 1, len(before) - before.rfind("\n"), file)


@dataclass(slots=True)
class _Open:
    """A container whose end was not read yet; `size` and `height` grow with its content."""

    node: Map | Items
    anchor: str | None
    place: Place
    size: int = 1
    height: int = 1
    key: str | None = None
    key_place: Place = NOWHERE
    is_merge: bool = False
    merged: set[str] | None = None


@dataclass(frozen=True, slots=True)
class _Anchored:
    value: Value
    size: int
    height: int


class _Composer:
    """Builds values from a stream of events."""

    def __init__(self, loader: Any, issues: Issues, file: str) -> None:
        self._loader = loader
        self._file = file
        self._issues = issues
        self._budget = Budget(NODES, issues)
        self._stack = [_Open(Items(), None, Place(1, 1, file))]
        self._anchors: dict[str, _Anchored | None] = {}
        self._plain: dict[str, Value] = {}
        self._steps: dict[type, Callable[[Any, Place], None]] = {
            yaml.ScalarEvent: self._scalar,
            yaml.MappingStartEvent: self._start_map,
            yaml.SequenceStartEvent: self._start_items,
            yaml.MappingEndEvent: self._end,
            yaml.SequenceEndEvent: self._end,
            yaml.AliasEvent: self._alias,
            yaml.DocumentStartEvent: self._start_document,
        }

    def documents(self) -> Items:
        """All documents of the stream."""
        while self._loader.check_event():
            event = self._loader.get_event()
            step = self._steps.get(type(event))
            if step:
                mark = event.start_mark
                step(event, Place(mark.line + 1, mark.column + 1, self._file))
        documents = self._stack[0].node
        assert isinstance(documents, Items)
        return documents

    def _start_document(self, _event: Any, _place: Place) -> None:
        self._anchors.clear()

    def _start_map(self, event: Any, place: Place) -> None:
        self._start(event, Map(place), place)

    def _start_items(self, event: Any, place: Place) -> None:
        self._start(event, Reference(place) if event.tag == REFERENCE else Items(place), place)

    def _start(self, event: Any, node: Map | Items, place: Place) -> None:
        self._check_depth(1, place)
        self._budget.spend(1, place)
        top = self._stack[-1]
        if isinstance(top.node, Map) and top.key is None:
            self._issues.fail("Invalid configuration format: a key must be plain text", place=place)
        if event.tag not in _CONTAINER_TAGS and not isinstance(node, Reference):
            self._refuse_tag(event.tag, place)
        if event.anchor:
            self._anchors[event.anchor] = None
        self._stack.append(_Open(node, event.anchor, place))

    def _end(self, _event: Any, _place: Place) -> None:
        closed = self._stack.pop()
        if closed.anchor:
            self._anchors[closed.anchor] = _Anchored(closed.node, closed.size, closed.height)
        self._put(closed.node, closed.place, closed.size, closed.height)

    def _alias(self, event: Any, place: Place) -> None:
        if event.anchor not in self._anchors:
            self._issues.fail(f"Invalid configuration format: unknown alias *{event.anchor}", place=place)
        known = self._anchors[event.anchor]
        if known is None:
            self._issues.fail(f"Invalid configuration format: alias *{event.anchor} contains itself", place=place)
        self._check_depth(known.height, place)
        self._budget.spend(known.size, place)
        self._put(known.value, place, known.size, known.height)

    def _scalar(self, event: Any, place: Place) -> None:
        self._budget.spend(1, place)
        top = self._stack[-1]
        if isinstance(top.node, Map) and top.key is None:
            top.is_merge = event.value == "<<" and event.implicit[0]
            value: Value = event.value
            if event.implicit[0] and event.value[:1] in _TOUCHY:
                self._check_key(event.value, place)
        else:
            value = self._value(event, place)
        if event.anchor:
            self._anchors[event.anchor] = _Anchored(value, 1, 0)
        self._put(value, place, 1, 0)

    def _put(self, value: Value, place: Place, size: int, height: int) -> None:
        """Hand a finished value to the container around it: as element, as key or as the value of its key."""
        top = self._stack[-1]
        top.size += size
        if height >= top.height:  # `max` would be called for every value
            top.height = height + 1
        if isinstance(top.node, Items):
            top.node.put(value, place)
        elif top.key is None:
            if not isinstance(value, str):
                self._issues.fail("Invalid configuration format: a key must be plain text", place=place)
            top.key, top.key_place = value, place
        else:
            if top.is_merge:
                self._merge(top.node, value, place)
            else:
                if top.key in top.node:
                    self._note_repeated(top.node, top)
                top.node.put(top.key, value, top.key_place)
            top.key, top.is_merge = None, False

    def _merge(self, node: Map, value: Value, place: Place) -> None:
        """`<<`: keys written before it are replaced, keys after it win (Ruby's reader, which GitLab uses, does so)."""
        bases = [value] if isinstance(value, Map) else list(value) if isinstance(value, Items) else [value]
        for base in reversed(bases):
            if not isinstance(base, Map):
                self._issues.fail("Invalid configuration format: `<<` takes mappings only", place=place)
            node.take(base)
            top = self._stack[-1]
            top.merged = top.merged or set()
            top.merged.update(base)

    def _note_repeated(self, node: Map, top: _Open) -> None:
        """Warn of a key that is there already; one that came by `<<` is there to be replaced."""
        key = top.key or ""
        if top.merged and key in top.merged:
            top.merged.discard(key)
            return
        message = f"`{key}` is written twice, here and in line {node.places[key].line}: only the last one counts"
        self._issues.warn(message, place=top.key_place)

    def _check_key(self, key: str, place: Place) -> None:
        """Names of jobs and variables are text; YAML reads some as numbers and words."""
        is_job, above = self._stack[-2] is self._stack[0], self._stack[-2].key
        if (is_job or above == "variables") and self._resolved(key) in _NUMBER_AND_WORD_TAGS:
            path = f"jobs:{key}" if is_job else "variables"
            message = f"{path} {'name' if is_job else f'config: the name {key}'} should be text; put quotes around it"
            self._issues.add(message, path, place)

    def _value(self, event: Any, place: Place) -> Value:
        text: str = event.value
        if event.tag is None and not event.implicit[0]:
            return text
        if event.tag is not None:
            return self._tagged(event.tag, text, place)
        if text not in self._plain:
            number = number_of_ruby(text) if (":" in text or "," in text) and len(text) <= _MAX_NUMBER else None
            self._plain[text] = self._tagged(self._resolved(text), text, place) if number is None else number
        return self._plain[text]

    def _resolved(self, text: str) -> str:
        """The tag of a plain text; with a colon in it there is no number but those of `number_of_ruby`."""
        tag = str(self._loader.resolve(yaml.ScalarNode, text, (True, False)))
        return _CORE + "str" if ":" in text and tag in _NUMBER_AND_WORD_TAGS else tag

    def _tagged(self, tag: str, text: str, place: Place) -> Value:
        if tag in _TEXT_TAGS:
            return text
        if tag not in _NUMBER_AND_WORD_TAGS:
            return self._of_unknown_tag(tag, text, place)
        if len(text) > _MAX_NUMBER:
            return text
        try:
            value: Value = self._loader.yaml_constructors[tag](self._loader, yaml.ScalarNode(tag, text))
        except (ValueError, KeyError, ArithmeticError):  # as `0x_` or `!!int many`
            return text
        return value

    def _of_unknown_tag(self, tag: str, text: str, place: Place) -> Value:
        """As if the tag were not there."""
        self._refuse_tag(tag, place)
        return self._tagged(self._resolved(text), text, place) if _is_ignored(tag) else None

    def _refuse_tag(self, tag: str, place: Place) -> None:
        if tag == REFERENCE:
            self._issues.add("`!reference` takes a list of keys, as `!reference [.job, script]`", place=place)
        elif tag == _CORE + "timestamp":
            self._issues.add("Invalid configuration format: put quotes around a date to make it text", place=place)
        elif _is_ignored(tag):
            self._issues.warn(f"the YAML tag {tag} means nothing here and is ignored", place=place)
        else:
            short = tag.replace(_CORE, "!!")
            self._issues.add(f"Invalid configuration format: the YAML tag {short} is not permitted", place=place)

    def _check_depth(self, further: int, place: Place) -> None:
        if len(self._stack) - 1 + further > DEPTH:
            self._issues.fail(f"The configuration is nested too deep; the limit is {DEPTH} levels", place=place)


def _is_ignored(tag: str) -> bool:
    """Whether a tag is one of nobody's; what YAML itself defines and cannot stand here is refused."""
    return tag != REFERENCE and not tag.startswith(_CORE)


class _Dumper(yaml.CSafeDumper):
    """Writes each value where it stands, without aliases."""

    def ignore_aliases(self, _data: Any) -> bool:
        """Always."""
        return True


def _text(dumper: Any, text: str) -> Any:
    return dumper.represent_scalar(_CORE + "str", text, style="|" if "\n" in text else None)


_Dumper.add_representer(Map, lambda dumper, value: dumper.represent_mapping(_CORE + "map", value.items()))
_Dumper.add_multi_representer(list, lambda dumper, value: dumper.represent_sequence(_CORE + "seq", value))
_Dumper.add_representer(str, _text)


def dump(value: Value) -> str:
    """A value as YAML, keys in their order."""
    text: str = yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=120)
    return text
