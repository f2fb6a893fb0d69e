"""Builds the tree of an expression.

    program    := statement (';' statement)*
    statement  := NAME '=' sum | sum
    sum        := product (('+' | '-') product)*
    product    := signed (('*' | '/' | '//' | '%') signed)*
    signed     := ('+' | '-') signed | power
    power      := postfix ('^' signed)?          right to left; -2^2 is -(2^2)
    postfix    := atom '!'*
    atom       := NUMBER | NAME | NAME '(' [sum (',' sum)*] ')' | '(' sum ')'
"""

from typing import Callable, List, Tuple

from calculator.errors import CalculatorError
from calculator.tokens import Token, tokenize
from calculator.tree import Assignment, Call, Factorial, Name, Node, Number, Operation, Prefix

DEEPEST = 60


def parse(text: str) -> List[Node]:
    """The statements of `text`, at least one; CalculatorError tells where it makes no sense."""
    return _Parser(tokenize(text)).program()


class _Parser:
    """Reads tokens from left to right; one method for each line of the grammar."""

    def __init__(self, tokens: List[Token]) -> None:
        self._tokens = tokens
        self._at = 0
        self._depth = 0

    @property
    def _next(self) -> Token:
        return self._tokens[self._at]

    def _take(self) -> Token:
        token = self._next
        self._at += 1
        return token

    def _accept(self, *signs: str) -> bool:
        return self._next.kind == "symbol" and self._next.text in signs

    def _expect(self, sign: str) -> None:
        if not self._accept(sign):
            raise self._unexpected(f"expected {sign!r}")
        self._take()

    def _unexpected(self, wish: str) -> CalculatorError:
        found = repr(self._next.text) if self._next.text else "the end"
        return CalculatorError(f"{wish}, found {found}", self._next.position)

    def program(self) -> List[Node]:
        statements = [self._statement()]
        while self._accept(";"):
            self._take()
            statements.append(self._statement())
        if self._next.kind != "end":
            raise self._unexpected("expected an operator")
        return statements

    def _statement(self) -> Node:
        following = self._tokens[min(self._at + 1, len(self._tokens) - 1)]
        if self._next.kind == "name" and following.text == "=":
            name = self._take()
            self._take()
            return Assignment(name.text, self._sum(), name.position)
        return self._sum()

    def _chain(self, signs: Tuple[str, ...], operand: Callable[[], Node]) -> Node:
        left = operand()
        while self._accept(*signs):
            sign = self._take()
            left = Operation(sign.text, left, operand(), sign.position)
        return left

    def _sum(self) -> Node:
        return self._chain(("+", "-"), self._product)

    def _product(self) -> Node:
        return self._chain(("*", "/", "//", "%"), self._signed)

    def _signed(self) -> Node:
        self._depth += 1
        if self._depth > DEEPEST:
            raise CalculatorError(f"nested deeper than {DEEPEST} levels", self._next.position)
        try:
            if self._accept("+", "-"):
                sign = self._take()
                return Prefix(sign.text, self._signed(), sign.position)
            return self._power()
        finally:
            self._depth -= 1

    def _power(self) -> Node:
        base = self._postfix()
        if not self._accept("^"):
            return base
        sign = self._take()
        return Operation("^", base, self._signed(), sign.position)

    def _postfix(self) -> Node:
        node = self._atom()
        while self._accept("!"):
            node = Factorial(node, self._take().position)
        return node

    def _atom(self) -> Node:
        if self._next.kind == "number":
            token = self._take()
            return Number(token.text, token.position)
        if self._next.kind == "name":
            token = self._take()
            if self._accept("("):
                return Call(token.text, self._arguments(), token.position)
            return Name(token.text, token.position)
        if not self._accept("("):
            raise self._unexpected("expected a number, a name or '('")
        self._take()
        node = self._sum()
        self._expect(")")
        return node

    def _arguments(self) -> Tuple[Node, ...]:
        self._expect("(")
        arguments = [] if self._accept(")") else [self._sum()]
        while self._accept(","):
            self._take()
            arguments.append(self._sum())
        self._expect(")")
        return tuple(arguments)
