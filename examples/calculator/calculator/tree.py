"""The parts of a parsed expression. `position` is where the part's own sign or name stands."""

from dataclasses import dataclass
from typing import Tuple, Union


@dataclass(frozen=True)
class Number:
    """A literal, kept as text so that the evaluator chooses how exact it is."""

    text: str
    position: int


@dataclass(frozen=True)
class Name:
    """A constant or a variable."""

    name: str
    position: int


@dataclass(frozen=True)
class Prefix:
    """A sign before its operand."""

    sign: str
    operand: "Node"
    position: int


@dataclass(frozen=True)
class Factorial:
    """An operand with `!` after it."""

    operand: "Node"
    position: int


@dataclass(frozen=True)
class Operation:
    """Two operands and the sign between them."""

    sign: str
    left: "Node"
    right: "Node"
    position: int


@dataclass(frozen=True)
class Call:
    """A function with its arguments."""

    function: str
    arguments: Tuple["Node", ...]
    position: int


@dataclass(frozen=True)
class Assignment:
    """A variable and what it is set to."""

    name: str
    value: "Node"
    position: int


Node = Union[Number, Name, Prefix, Factorial, Operation, Call, Assignment]
