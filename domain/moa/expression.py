"""Reads Moa: texts with `${{ expression }}` in them. Source: docs/reference/steps.md, "Moa expressions".

or := and ('||' and)* ;  and := comparison ('&&' comparison)*
comparison := sum (('==' | '!=' | '<' | '<=' | '>' | '>=') sum)*
sum := product (('+' | '-') product)* ;  product := unary (('*' | '/' | '%') unary)*
unary := ('+' | '-' | '!') unary | value ('.' NAME | '[' or ']')*
value := null | true | false | 1.5e3 | "text ${{ or }}" | 'text' | [or, ...] | {NAME: or, unary: or, ...} | (or)
       | NAME | NAME(or)
"""

import re
from collections.abc import Callable, Mapping
from typing import Final, NoReturn, TypeVar

from domain.errors import Invalid
from domain.moa.evaluation import Context, Expression, array, chain, constant, item, mapping, text, with_sign
from domain.moa.values import FUNCTIONS, Value, item_of, number_of

MAX_NESTED: Final = 32
"""So deep may an expression be nested."""

Part = TypeVar("Part")

_SPACE: Final = re.compile(r"\s*")
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_NUMBER: Final = re.compile(r"[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_OPERATOR: Final = re.compile(r"\|\||&&|[=!<>]=|[-+*/%<>!]")
_RAW: Final = re.compile(r"'((?:[^'\\]|\\.)*)'", re.DOTALL)
_RAW_ESCAPE: Final = re.compile(r"\\([\\'])")
_QUOTED_PART: Final = re.compile(r'[^"\\$]+|\\u[0-9a-fA-F]{4}|\\\$\{\{|\\.|\$(?!\{\{)', re.DOTALL)
_PLAIN_PART: Final = re.compile(r"[^\\$]+|\\\$\{\{|\\|\$(?!\{\{)", re.DOTALL)
_OPEN, _CLOSE = "${{", "}}"
_ESCAPED: Final = "\\" + _OPEN
_ESCAPES: Final = dict(zip('\\"nrtabfv/', '\\"\n\r\t\a\b\f\v/', strict=True))
_BINARY: Final = (
    frozenset({"||"}),
    frozenset({"&&"}),
    frozenset({"==", "!=", "<", "<=", ">", ">="}),
    frozenset({"+", "-"}),
    frozenset({"*", "/", "%"}),
)
"""Operators between two values, the weakest first."""
_UNARY: Final = frozenset({"+", "-", "!"})
_WORDS: Final[Mapping[str, Value]] = {"null": None, "true": True, "false": False}
_RESERVED: Final = frozenset(
    "array as break case const continue default else fallthrough float for func function goto if import in int let "
    "loop map namespace number object package range return string struct switch type var void while".split()
)
_SHOWN: Final = 20


def is_plain(template: str) -> bool:
    """Whether there is nothing to evaluate in a text, nor anything that stands for something else."""
    return _OPEN not in template


def render(template: str, context: Context) -> Value:
    """The text with its expressions evaluated: a text, or, if it is one expression alone, whatever that gives.

    `\\${{` stands for `${{`. Raises `Invalid` that says what is wrong and where (characters count from 1).
    """
    if is_plain(template):
        return template
    return _Reader(template).template()(context)


class _Reader:
    """Goes through a text once, from the left to the right."""

    def __init__(self, text: str) -> None:
        self._text, self._at, self._depth = text, 0, 0

    def template(self) -> Expression:
        parts: list[Expression] = []
        while self._at < len(self._text):
            if plain := self._take(_PLAIN_PART):
                parts.append(constant(_OPEN if plain == _ESCAPED else plain))
            else:
                parts.append(self._embedded())
        return parts[0] if len(parts) == 1 else text(parts)

    def _embedded(self) -> Expression:
        self._expect(_OPEN)
        found = self._binary()
        self._expect(_CLOSE)
        return found

    def _binary(self, strength: int = 0) -> Expression:
        if strength == len(_BINARY):
            return self._unary()
        first = self._binary(strength + 1)
        rest: list[tuple[str, Expression]] = []
        while (operator := self._next(_OPERATOR)) in _BINARY[strength]:
            self._expect(operator)
            rest.append((operator, self._binary(strength + 1)))
        return chain(first, rest) if rest else first

    def _unary(self) -> Expression:
        self._depth += 1
        if self._depth > MAX_NESTED:
            raise Invalid(f"the expression is nested more than {MAX_NESTED} times")
        operator = self._next(_OPERATOR)
        if operator in _UNARY:
            self._expect(operator)
            found = with_sign(operator, self._unary())
        else:
            found = self._with_items(self._value())
        self._depth -= 1
        return found

    def _with_items(self, value: Expression) -> Expression:
        keys: list[Expression] = []
        while True:
            if self._takes("."):
                keys.append(constant(self._name("the name of a field")))
            elif self._takes("["):
                keys.append(self._binary())
                self._expect("]")
            else:
                return item(value, keys) if keys else value

    def _value(self) -> Expression:
        self._skip()
        if number := self._take(_NUMBER):
            return constant(number_of(number))
        if raw := self._take(_RAW):
            return constant(_RAW_ESCAPE.sub(r"\1", raw[1:-1]))
        if self._takes('"'):
            return self._quoted()
        if self._takes("["):
            return array(self._several(self._binary, "]"))
        if self._takes("{"):
            return mapping(self._several(self._pair, "}"))
        if self._takes("("):
            found = self._binary()
            self._expect(")")
            return found
        return self._named(self._name("a value"))

    def _named(self, name: str) -> Expression:
        if name in _WORDS:
            return constant(_WORDS[name])
        if name in _RESERVED:
            raise Invalid(f"`{name}` is reserved and names nothing")
        if not self._takes("("):
            return lambda context: item_of(context, name)
        if name not in FUNCTIONS:
            raise Invalid(f"there is no function `{name}`; there are: {', '.join(FUNCTIONS)}")
        argument = self._binary()
        self._expect(")")
        return lambda context: FUNCTIONS[name](argument(context))

    def _quoted(self) -> Expression:
        parts: list[Expression] = []
        while not self._text.startswith('"', self._at):
            if plain := self._take(_QUOTED_PART):
                parts.append(constant(_unescaped(plain)))
            elif self._text.startswith(_OPEN, self._at):
                parts.append(self._embedded())
            else:
                self._refuse("the closing quote")
        self._at += 1
        return text(parts)

    def _pair(self) -> tuple[Expression, Expression]:
        self._skip()
        name = self._take(_NAME)
        key = constant(name) if name else self._unary()
        self._expect(":")
        return key, self._binary()

    def _several(self, read: Callable[[], Part], end: str) -> list[Part]:
        parts: list[Part] = []
        while not self._takes(end):
            parts.append(read())
            if not self._takes(","):
                self._expect(end)
                break
        return parts

    def _name(self, wanted: str) -> str:
        self._skip()
        return self._take(_NAME) or self._refuse(wanted)

    def _next(self, pattern: re.Pattern[str]) -> str:
        self._skip()
        match = pattern.match(self._text, self._at)
        return match[0] if match else ""

    def _take(self, pattern: re.Pattern[str]) -> str:
        match = pattern.match(self._text, self._at)
        if match is None:
            return ""
        self._at = match.end()
        return match[0]

    def _takes(self, sign: str) -> bool:
        self._skip()
        is_there = self._text.startswith(sign, self._at)
        self._at += len(sign) * is_there
        return is_there

    def _expect(self, sign: str) -> None:
        if not self._takes(sign):
            self._refuse(f"`{sign}`")

    def _refuse(self, wanted: str) -> NoReturn:
        met = self._text[self._at : self._at + _SHOWN]
        raise Invalid(f"character {self._at + 1}: {wanted} is missing" + (f" before {met!r}" if met else ""))

    def _skip(self) -> None:
        self._take(_SPACE)


def _unescaped(part: str) -> str:
    if not part.startswith("\\"):
        return part
    if part == _ESCAPED:
        return _OPEN
    if part[1:] in _ESCAPES:
        return _ESCAPES[part[1:]]
    letter = chr(int(part.removeprefix("\\u"), base=16)) if part[2:] else "\0"
    if letter == "\0" or "\ud800" <= letter <= "\udfff":
        raise Invalid(f"`{part}` in a text is no escape; write `\\\\` for a backslash")
    return letter
