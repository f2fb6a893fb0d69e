"""Every operator, function and constant, in tables that the evaluator and the manual read."""

import math
import operator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Callable, Dict, Tuple, Union

Value = Union[float, Fraction]

MAX_EXPONENT = 1024
MAX_FACTORIAL = 500
MAX_BITS = 100_000


@dataclass(frozen=True)
class Function:
    """A function, how many arguments it takes (None: one or more), and if a fraction stays one."""

    run: Callable[..., Any]
    arguments: Union[int, None]
    exact: bool
    summary: str
    example: Tuple[str, str]


def literal(text: str, exact: bool) -> Value:
    """The number that `text` writes; ValueError for an exact one whose exponent is too large."""
    exponent = text.lower().partition("e")[2]
    if exact and exponent and abs(int(exponent)) > MAX_EXPONENT:
        raise ValueError(f"exponent is beyond {MAX_EXPONENT}")
    return Fraction(text) if exact else float(text)


def power(base: Value, exponent: Value) -> Value:
    """`base ^ exponent`; ValueError for an exponent that is too large or a result that is not real."""
    if abs(exponent) > MAX_EXPONENT:
        raise ValueError(f"exponent is beyond {MAX_EXPONENT}")
    if isinstance(base, Fraction) and Fraction(exponent).denominator != 1:
        raise ValueError("an exact power needs a whole exponent")
    if isinstance(base, Fraction) and max(base.numerator, base.denominator).bit_length() * abs(exponent) > MAX_BITS:
        raise ValueError(f"the result has more than {MAX_BITS} bits")
    result = base**exponent
    if isinstance(result, complex):
        raise ValueError("the result is not a real number")
    return result


def factorial(value: Value) -> Value:
    """`value!`; ValueError unless it is a whole number from 0 to 500."""
    if value != int(value) or not 0 <= value <= MAX_FACTORIAL:
        raise ValueError(f"factorial needs a whole number from 0 to {MAX_FACTORIAL}")
    return type(value)(math.factorial(int(value)))


OPERATORS: Dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "^": power,
}

CONSTANTS: Dict[str, float] = {"pi": math.pi, "e": math.e, "tau": math.tau}

FUNCTIONS: Dict[str, Function] = {
    "abs": Function(abs, 1, True, "distance from zero", ("abs(-3)", "3")),
    "min": Function(min, None, True, "smallest argument", ("min(4, 2, 8)", "2")),
    "max": Function(max, None, True, "largest argument", ("max(4, 2, 8)", "8")),
    "floor": Function(math.floor, 1, True, "next whole number below", ("floor(7 / 2)", "3")),
    "ceil": Function(math.ceil, 1, True, "next whole number above", ("ceil(7 / 2)", "4")),
    "sqrt": Function(math.sqrt, 1, False, "square root", ("sqrt(144)", "12")),
    "log": Function(math.log10, 1, False, "logarithm to base 10", ("log(1000)", "3")),
    "ln": Function(math.log, 1, False, "natural logarithm", ("ln(e)", "1")),
    "sin": Function(math.sin, 1, False, "sine of radians", ("sin(0)", "0")),
    "cos": Function(math.cos, 1, False, "cosine of radians", ("cos(0)", "1")),
}
