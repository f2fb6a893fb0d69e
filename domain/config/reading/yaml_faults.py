"""What is wrong with a text that is no YAML, in the words of somebody who writes one: what was expected, and where.

libyaml says what its parser stumbled over, and often a line too late. Each of its sentences is read together with the
lines around, which tell the usual mistakes apart: indentation, tabs, colons, quotes, brackets.
"""

import re
from collections.abc import Callable
from typing import Final, NamedTuple

from domain.config.reading.yaml_stumble import FARTHEST, Spot, Stumble, content, indent, line_above

PREFIX: Final = "Invalid configuration format: "
_GLUED: Final = re.compile(r"[\w.-]+:[^\s:/]")
"""A key whose value follows without a blank."""
_QUOTES: Final = ("'", '"')
_SHOWN: Final = 40
"""Characters of the text that a sentence repeats."""


class Fault(NamedTuple):
    """A sentence, the place of the fault, and where that began which it is about."""

    message: str
    at: Spot
    began: Spot | None = None


def fault_of(stumble: Stumble) -> Fault:
    """What to tell; where no mistake is recognised, what libyaml says."""
    conflict = _merge_conflict(stumble)
    if conflict is not None:
        return conflict
    for words, read in _SENTENCES:
        if words in stumble.problem or words in stumble.context:
            found = read(stumble)
            if found is not None:
                return found
    said = " ".join(part for part in (stumble.problem, stumble.context) if part)
    return Fault(said, stumble.at, stumble.began)


def _merge_conflict(stumble: Stumble) -> Fault | None:
    for number in range(max(1, stumble.at.line - 1), stumble.at.line + 2):
        if re.match(r"(<{7}|>{7}) |={7}$", stumble.text(number)):
            return Fault("git left a merge conflict here; keep one side and remove its marks", Spot(number, 1))
    return None


def _unexpected_colon(stumble: Stumble) -> Fault:
    """A `: ` where no key may stand: a second one in a line, a line too deep, or no colon in the line above."""
    line = stumble.text(stumble.at.line)
    key, _, value = line[: stumble.at.column - 1].partition(": ")
    if value.strip():
        said = f"a value with `: ` in it needs quotes; write {_quoted(key, line)}"
        return Fault(said, stumble.at)
    number = line_above(stumble)
    above = content(stumble.text(number))
    if above and ":" not in above:
        end = Spot(number, len(stumble.text(number).rstrip()) + 1)
        return Fault(f"expected a colon at the end of `{above[:_SHOWN]}` in line {number}", end, stumble.at)
    if _GLUED.match(above):
        return _no_blank(above, number, stumble)
    depth, own = indent(stumble.text(number)), indent(line)
    if not above or own <= depth:
        return Fault("a value with `: ` in it needs quotes", stumble.at)
    said = f"this line is indented too deep: line {number} above has its value already; indent both by {depth}"
    return Fault(said, Spot(stumble.at.line, own + 1), Spot(number, depth + 1))


def _no_blank(text: str, number: int, stumble: Stumble) -> Fault:
    key, _, value = text.partition(":")
    column = stumble.text(number).index(":") + 1
    said = f"expected a blank after the colon; write `{key[:_SHOWN]}: {value.strip()[:_SHOWN]}`"
    return Fault(said, Spot(number, column), stumble.at)


def _missing_colon(stumble: Stumble) -> Fault | None:
    """A line that is neither `key: value` nor part of the text above."""
    if stumble.began is None:
        return None
    text = stumble.text(stumble.began.line).strip()
    if _GLUED.match(text):
        return _no_blank(text, stumble.began.line, Stumble("", "", stumble.began, None, stumble.lines))
    said = f"expected `key: value`, but there is no `: ` after `{text[:_SHOWN]}`"
    return Fault(f"{said}; indent it as the text above if it goes on", stumble.began)


def _wrong_indentation(stumble: Stumble) -> Fault | None:
    """Something that is no key of the mapping that is being read."""
    if stumble.began is None:
        return None
    if not stumble.is_first:
        return _after_the_end(stumble, stumble.began)
    depth = stumble.at.column - 1
    if stumble.sign != "-":
        number = line_above(stumble)
        if not number:
            return None
        said = f"this line is indented by {depth}, line {number} by {indent(stumble.text(number))}"
        return Fault(f"{said}; indent alike what belongs together", stumble.at, Spot(number, 1))
    before = line_above(stumble, items=True)
    if stumble.text(before).lstrip().startswith("- "):
        said = f"this item is indented by {depth}, the one in line {before} by {indent(stumble.text(before))}"
        return Fault(f"{said}; indent all items of a list alike", stumble.at, Spot(before, 1))
    said = f"expected `key: value`, met an item of a list: the key in line {before} has its value already"
    return Fault(said, stumble.at, Spot(before, 1))


def _after_the_end(stumble: Stumble, began: Spot) -> Fault:
    """Text behind a closing quote or bracket; the quote may have been meant to open, as one above was never closed."""
    line = stumble.text(stumble.at.line)
    quote = line[: stumble.at.column - 1].rstrip()[-1:]
    if quote in _QUOTES:
        for number in range(max(began.line, stumble.at.line - FARTHEST), stumble.at.line):
            if stumble.text(number).count(quote) % 2:
                opened = Spot(number, stumble.text(number).rindex(quote) + 1)
                said = f"expected a closing `{quote}`: this quote is open until line {stumble.at.line}"
                return Fault(said, opened, stumble.at)
    rest = line[stumble.at.column - 1 :].strip()
    said = f"nothing may follow a closing quote or bracket, but `{rest[:_SHOWN]}` does"
    return Fault(f"{said}; quote the whole value (a ' in '...' is written '')", stumble.at)


def _no_item(stumble: Stumble) -> Fault | None:
    if stumble.began is None:
        return None
    said = (
        f"expected `- `: this line is indented as the list that begins in line {stumble.began.line}; indent a key less"
    )
    return Fault(said, stumble.at, stumble.began)


def _unclosed_quote(stumble: Stumble) -> Fault | None:
    if stumble.began is None:
        return None
    sign = stumble.text(stumble.began.line)[stumble.began.column - 1 : stumble.began.column]
    return Fault(f"expected a closing `{sign}`: this quote is open until the end of the file", stumble.began)


_CLOSING: Final = {"flow sequence": ("[", "]"), "flow mapping": ("{", "}")}


def _unclosed_bracket(stumble: Stumble) -> Fault | None:
    kind = next((signs for words, signs in _CLOSING.items() if words in stumble.context), None)
    if kind is None or stumble.began is None:
        return None
    opening, closing = kind
    if stumble.began.line != stumble.at.line:
        said = f"expected a closing `{closing}` for this `{opening}`, or a comma, before line {stumble.at.line}"
        return Fault(said, stumble.began, stumble.at)
    return Fault(f"expected `,` or `{closing}` here, in what `{opening}` begins", stumble.at)


def _no_value(stumble: Stumble) -> Fault:
    met = f"`{stumble.sign}`" if stumble.sign.strip() else "the end of the line"
    return Fault(f"expected a value, met {met}; put quotes around a text that starts with such a sign", stumble.at)


def _wrong_start(stumble: Stumble) -> Fault:
    if stumble.sign == "\t":
        return _tab(stumble)
    return Fault(f"put quotes around a text that starts with `{stumble.sign}`", stumble.at)


def _tab(stumble: Stumble) -> Fault:
    return Fault("expected blanks, met a tab; indent with spaces, not with a tab", stumble.at)


def _before_the_first(stumble: Stumble) -> Fault | None:
    """A line that belongs to none of the lines above, the first of which is indented deeper."""
    number = line_above(stumble, items=True)
    if not number or stumble.text(stumble.at.line).startswith("%"):
        return None
    said = (
        f"this line is indented by {indent(stumble.text(stumble.at.line))}, less than the lines above; begin the first"
    )
    return Fault(f"{said} key of the file without indentation", stumble.at, Spot(number, 1))


def _list_beside_key(stumble: Stumble) -> Fault:
    return Fault("expected one value; the items of a list begin below their key, each in a line of its own", stumble.at)


def _wrong_escape(stumble: Stumble) -> Fault:
    escape = stumble.text(stumble.at.line)[stumble.at.column - 1 : stumble.at.column + 1]
    said = f'`{escape}` means nothing within "..."; write `\\{escape}`, or use single quotes'
    return Fault(said, stumble.at)


def _starts_with(sign: str) -> Callable[[Stumble], Fault]:
    return lambda stumble: Fault(f"put quotes around a text that starts with `{sign}`", stumble.at)


_SENTENCES: Final[tuple[tuple[str, Callable[[Stumble], Fault | None]], ...]] = (
    ("cannot start any token", _wrong_start),
    ("found a tab character", _tab),
    ("expected <document start>", _before_the_first),
    ("scanning an alias", _starts_with("*")),
    ("scanning an anchor", _starts_with("&")),
    ("mapping values are not allowed", _unexpected_colon),
    ("could not find expected ':'", _missing_colon),
    ("did not find expected key", _wrong_indentation),
    ("did not find expected '-' indicator", _no_item),
    ("unexpected end of stream", _unclosed_quote),
    ("did not find expected ','", _unclosed_bracket),
    ("did not find expected node content", _no_value),
    ("block sequence entries are not allowed", _list_beside_key),
    ("unknown escape character", _wrong_escape),
)
"""By what libyaml says of the problem or of where it was met."""


def _quoted(key: str, line: str) -> str:
    """How the value of a line should be written."""
    text = line.strip()
    start, value = f"{key.strip()}: ", line.partition(": ")[2].strip()
    if text.startswith("- "):
        start, value = "- ", text[2:].strip()
    if len(start) + len(value) > _SHOWN:
        return f"`{start[:_SHOWN]}'...'`"
    return f"`{start}'{value.replace(chr(39), chr(39) * 2)}'`"
