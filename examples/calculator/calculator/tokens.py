"""Cuts an expression into tokens."""

import re
from dataclasses import dataclass
from typing import List

from calculator.errors import CalculatorError

TOKEN = re.compile(
    r"(?P<space>\s+)"
    r"|(?P<number>(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)"
    r"|(?P<name>[A-Za-z_][A-Za-z_0-9]*)"
    r"|(?P<symbol>//|[-+*/%^!(),;=])"
)


@dataclass(frozen=True)
class Token:
    """One piece of an expression; `kind` is number, name, symbol or end."""

    kind: str
    text: str
    position: int


def tokenize(text: str) -> List[Token]:
    """All tokens of `text` and an `end` token after them; spaces are left out."""
    tokens = []
    position = 0
    while position < len(text):
        match = TOKEN.match(text, position)
        if match is None:
            raise CalculatorError(f"unknown character {text[position]!r}", position)
        if match.lastgroup != "space":
            tokens.append(Token(str(match.lastgroup), match.group(), position))
        position = match.end()
    return [*tokens, Token("end", "", len(text))]
