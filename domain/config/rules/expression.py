"""The conditions of `rules:if` and `only:variables`: read once, evaluated often.

    or := and ('||' and)* ;  and := comparison ('&&' comparison)*
    comparison := unary (('==' | '!=' | '=~' | '!~') unary)*
    unary := '!' unary | '(' or ')' | value
    value := $NAME | "text" | 'text' | /re/flags | null | true | false

It is read by precedence with a stack of operators into postfix steps, so nothing here calls itself.

Source: docs/reference/ci-yaml.md, "Expressions".
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from domain.config.rules.expression_tokens import Operand, Step, Token, refusal, text_of, tokens
from domain.config.rules.patterns import Pattern, Patterns
from domain.errors import Invalid

_PRECEDENCE: Final = {"||": 1, "&&": 2, "==": 3, "!=": 3, "=~": 3, "!~": 3, "!": 4, "(": 0}


@dataclass(frozen=True, slots=True)
class Expression:
    """An expression that is right. `names` are the variables it speaks of, each once, in the order of the text."""

    text: str
    names: tuple[str, ...]
    steps: tuple[Step, ...] = field(repr=False)
    patterns: Patterns = field(repr=False, compare=False)

    def evaluate(self, get: Callable[[str], str | int | float | None]) -> bool:
        """Whether it holds; `get` gives a variable's value as it is, None if it is not defined.

        Raises `Invalid` only when the patterns of the configuration have searched more text than they may.
        """
        stack: list[Operand] = []
        for kind, operand in self.steps:
            if kind == "value":
                stack.append(operand)
            elif kind == "variable":
                stack.append(get(str(operand)))
            elif kind == "!":
                stack.append(not _present(stack.pop()))
            else:
                right = stack.pop()
                stack.append(self._applied(kind, stack.pop(), right))
        return _present(stack.pop())

    def _applied(self, operator: str, left: Operand, right: Operand) -> Operand:
        if operator == "==":
            return _same(left, right)
        if operator == "!=":
            return not _same(left, right)
        if operator == "&&":
            return right if _true(left) else left
        if operator == "||":
            return left if _true(left) else right
        return self._found(left, right) == (operator == "=~")

    def _found(self, left: Operand, right: Operand) -> bool:
        """The table's rows on `=~`: a text in slashes is a pattern, in any other text the left side is looked for."""
        if not _true(right):
            return False
        if isinstance(right, str) and right.startswith("/"):
            try:
                right = self.patterns.read(right)
            except Invalid:
                return text_of(left) in text_of(right)
        if not isinstance(right, Pattern):
            return text_of(left) in text_of(right)
        return self.patterns.search(right, text_of(left))


class Expressions:
    """Parses each text of a configuration once."""

    def __init__(self, patterns: Patterns | None = None) -> None:
        """All expressions share the given patterns and their limits."""
        self.patterns = Patterns() if patterns is None else patterns
        self._known: dict[str, Expression | str] = {}

    def parse(self, text: str) -> Expression:
        """The expression of a text. Raises `Invalid` like `parse`."""
        known = self._known.get(text)
        if known is None:
            try:
                known = parse(text, self.patterns)
            except Invalid as error:
                known = str(error)
            self._known[text] = known
        if isinstance(known, str):
            raise Invalid(known)
        return known


def parse(text: str, patterns: Patterns | None = None) -> Expression:
    """Read an expression. Raises `Invalid` that says where (characters count from 1) and what was met there."""
    patterns = Patterns() if patterns is None else patterns
    parser = _Parser()
    for token in tokens(text, patterns):
        parser.take(token)
    steps = parser.finish(len(text))
    names = dict.fromkeys(str(step.operand) for step in steps if step.kind == "variable")
    return Expression(text, tuple(names), steps, patterns)


class _Parser:
    """Orders tokens by precedence: operands go to the output, operators wait until a weaker one comes."""

    def __init__(self) -> None:
        self._output: list[Step] = []
        self._waiting: list[Token] = []
        self._value_next = True

    def take(self, token: Token) -> None:
        kind = token.step.kind
        begins = kind in ("value", "variable", "(", "!")
        if begins != self._value_next:
            raise refusal(token.offset, f"met {token.name}", "a value" if self._value_next else "an operator")
        if kind in ("value", "variable"):
            self._output.append(token.step)
            self._value_next = False
        elif begins:
            self._waiting.append(token)
        elif kind == ")":
            self._close(token)
        else:
            self._release(_PRECEDENCE[kind])
            self._waiting.append(token)
            self._value_next = True

    def finish(self, end: int) -> tuple[Step, ...]:
        if self._value_next:
            raise refusal(end, "the text ends", "a value")
        self._release(1)
        if self._waiting:
            raise refusal(self._waiting[-1].offset, "met `(`", "its `)`")
        return tuple(self._output)

    def _close(self, token: Token) -> None:
        self._release(1)
        if not self._waiting:
            raise refusal(token.offset, "met `)`", "a `(` before it")
        self._waiting.pop()

    def _release(self, precedence: int) -> None:
        """Everything that binds at least so strongly is complete; an open parenthesis stops it."""
        while self._waiting and _PRECEDENCE[self._waiting[-1].step.kind] >= precedence:
            self._output.append(self._waiting.pop().step)


def _present(value: Operand) -> bool:
    return bool(value.strip()) if isinstance(value, str) else _true(value)


def _true(value: Operand) -> bool:
    """Truth inside `&&` and `||`: an empty text is true."""
    return value is not None and value is not False


def _same(left: Operand, right: Operand) -> bool:
    """Whether both are the same; `true` and `false` are compared with text as text, a number is no text."""
    if {type(left), type(right)} == {bool, str}:
        return text_of(left) == text_of(right)
    return left == right and isinstance(left, bool) == isinstance(right, bool)
