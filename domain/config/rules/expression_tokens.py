"""The tokens of expressions, as GitLab tells them apart. Source: docs/reference/ci-yaml.md, "Expressions"."""

import re
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple, TypeAlias

from domain.config.rules.patterns import Pattern, Patterns
from domain.errors import Invalid

MAX_TOKENS: Final = 100
"""Tokens of one expression (docs/reference/ci-yaml.md, "Limits")."""
SYNTAX: Final = "invalid expression syntax"
"""How every refusal of an expression begins."""

Operand: TypeAlias = str | bool | int | float | Pattern | None
"""What a part of an expression has as its value; None is an undefined variable, or `null`."""

_TOKEN: Final = re.compile(
    r"""\s*(?:(?P<parenthesis>[()])|\$(?P<variable>\w+)|(?P<text>"[^"\n]*"|'[^'\n]*')|(?P<word>(?:null|true|false)\b)"""
    r"""|(?P<operator>==|=~|!=|!~|&&|\|\||!)|(?P<slash>/)|(?P<end>\Z))""",
    re.ASCII,
)
_SPACES: Final = re.compile(r"\s*", re.ASCII)
_WORDS: Final[Mapping[str, Operand]] = {"null": None, "true": True, "false": False}
_HINTS: Final = (
    ("${", "write a variable as $NAME, without braces"),
    ("$[[", "inputs are put in only in files with a `spec` header"),
    ("=", "compare with `==`"),
    ("<", "there are only `==`, `!=`, `=~` and `!~`"),
    (">", "there are only `==`, `!=`, `=~` and `!~`"),
    ("-", "names of variables hold only letters, digits and `_`"),
    ("%", "write a variable as $NAME"),
    ("and ", "join conditions with `&&`"),
    ("or ", "join conditions with `||`"),
    ("&", "join conditions with `&&`"),
    ("|", "join conditions with `||`"),
    ('"', "close the text with the same quote, on the same line"),
    ("'", "close the text with the same quote, on the same line"),
)
_SHOWN: Final = 20


class Step(NamedTuple):
    """A value, a variable or an operator; `kind` is `value`, `variable` (its name in `operand`) or the operator."""

    kind: str
    operand: Operand = None


class Token(NamedTuple):
    """A step and the offset of its text."""

    step: Step
    offset: int

    @property
    def name(self) -> str:
        """What stands there, for messages."""
        kind, operand = self.step
        if kind == "variable":
            return f"`${operand}`"
        return f"`{kind}`" if kind != "value" else _quoted("null" if operand is None else text_of(operand))


def tokens(text: str, patterns: Patterns) -> Iterator[Token]:
    """Every token of a text, patterns compiled. Raises `Invalid` for what is none, and for too many."""
    position = count = 0
    while True:
        match = _TOKEN.match(text, position)
        if match is None:
            raise _unknown(text, position)
        if match.lastgroup == "end":
            return
        count += 1
        start, position = match.start(match.lastgroup or 0) - (match.lastgroup == "variable"), match.end()
        if count > MAX_TOKENS:
            raise Invalid(f"{SYNTAX}: it has more than {MAX_TOKENS} tokens; split it into several rules")
        if match.lastgroup == "slash":
            position = _pattern_end(text, start)
            yield Token(Step("value", _pattern(text[start:position], start, patterns)), start)
        else:
            yield Token(_step(match), start)


def _step(match: re.Match[str]) -> Step:
    word = match[match.lastgroup or 0]
    if match.lastgroup == "variable":
        return Step("variable", word)
    if match.lastgroup == "text":
        return Step("value", word[1:-1])
    return Step("value", _WORDS[word]) if match.lastgroup == "word" else Step(word)


def _pattern_end(text: str, start: int) -> int:
    """Where a pattern ends: behind the first slash without a backslash before it, and its flags.

    One slash more right there belongs to the pattern (`/https://` looks for `https:/`), and a pattern of one character
    is none, both as in GitLab.
    """
    slash = text.find("/", start + 1)
    while slash > 0 and text[slash - 1] == "\\":
        slash = text.find("/", slash + 1)
    if slash < 0:
        raise refusal(start, f"met {_quoted(text[start:])}", "a second `/` that ends the pattern")
    if slash > start + 1 and text.startswith("/", slash + 1):
        slash += 1
    if slash - start <= len("/x"):
        raise refusal(start, f"met {_quoted(text[start : slash + 1])}", "a pattern of two characters or more")
    end = slash + 1
    while end < len(text) and text[end] in "ismU":
        end += 1
    return end


def _pattern(text: str, start: int, patterns: Patterns) -> Pattern:
    try:
        return patterns.read(text)
    except Invalid as error:
        raise Invalid(f"{SYNTAX} at character {start + 1}: {error}") from None


def text_of(value: Operand) -> str:
    """A value as text; an undefined one is empty."""
    if isinstance(value, Pattern):
        return value.text
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)


def _quoted(text: str) -> str:
    return f"`{text[:_SHOWN]}...`" if len(text) > _SHOWN else f"`{text}`"


def _unknown(text: str, position: int) -> Invalid:
    spaces = _SPACES.match(text, position)
    start = spaces.end() if spaces else position
    rest = text[start : start + _SHOWN + 1]
    hint = next((hint for sign, hint in _HINTS if rest.startswith(sign)), "put text and numbers in quotes")
    return Invalid(f"{SYNTAX} at character {start + 1}: met {_quoted(rest)}; {hint}")


def refusal(offset: int, met: str, expected: str) -> Invalid:
    """The error of something that cannot stand at an offset."""
    return Invalid(f"{SYNTAX} at character {offset + 1}: {met}, but expected {expected}")
