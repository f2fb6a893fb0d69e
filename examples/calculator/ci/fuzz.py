"""Makes random expressions whose value is known and compares: `python3 ci/fuzz.py ROUNDS REPORT.json`."""

import json
import random
import sys
from fractions import Fraction
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from calculator.evaluator import calculate  # noqa: E402

SEED = 20260101


def expression(chance, depth):
    """A random expression with all its parentheses, and its exact value."""
    if depth == 0 or chance.random() < 0.2:
        number = chance.randint(0, 99)
        return str(number), Fraction(number)
    left, first = expression(chance, depth - 1)
    right, second = expression(chance, depth - 1)
    sign = chance.choice("+-*/")
    if sign == "/" and second == 0:
        sign = "+"
    value = {
        "+": lambda: first + second,
        "-": lambda: first - second,
        "*": lambda: first * second,
        "/": lambda: first / second,
    }[sign]()
    return f"({left} {sign} {right})", value


def main():
    """Exit 1 at the first wrong value, else write how many were right."""
    rounds, output = int(sys.argv[1]), Path(sys.argv[2])
    chance = random.Random(SEED)
    for _ in range(rounds):
        text, value = expression(chance, 4)
        if calculate(text, exact=True) != value:
            sys.exit(f"wrong: {text} is {value}, not {calculate(text, exact=True)}")
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(json.dumps({"seed": SEED, "rounds": rounds, "wrong": 0}) + "\n", encoding="utf-8")
    print(f"{rounds} random expressions are right")


if __name__ == "__main__":
    main()
