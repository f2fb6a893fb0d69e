"""The command: `python3 -m calculator [--exact] EXPRESSION ...`; without an expression it reads lines."""

import argparse
import sys
from fractions import Fraction
from typing import Iterable, List, Optional

from calculator.errors import CalculatorError
from calculator.evaluator import Evaluator
from calculator.operations import Value
from calculator.parser import parse


def shown(value: Value) -> str:
    """A number as people write it: no `.0`, no digits beyond the twelfth."""
    return str(value) if isinstance(value, Fraction) else format(value + 0.0, ".12g")


def main(arguments: Optional[List[str]] = None, lines: Iterable[str] = sys.stdin) -> int:
    """Print the value of each expression; 0 if all could be computed, else 1."""
    parser = argparse.ArgumentParser(prog="calculator", description="Computes expressions.")
    parser.add_argument("expressions", nargs="*", help='such as "1 + 2 * 3"')
    parser.add_argument("--exact", action="store_true", help="compute with fractions")
    options = parser.parse_args(arguments)
    evaluator = Evaluator(options.exact)
    failed = False
    for text in options.expressions or (line.strip() for line in lines if line.strip()):
        try:
            print(shown(evaluator.run(parse(text))))
        except CalculatorError as error:
            print(error.shown_in(text), file=sys.stderr)
            failed = True
    return int(failed)
