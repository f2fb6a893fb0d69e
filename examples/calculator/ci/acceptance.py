"""Runs one family of expressions in one mode through the packed calculator: FAMILY and MODE come from the matrix.

`FAMILY=powers MODE=exact python3 ci/acceptance.py ARCHIVE`
"""

import os
import subprocess
import sys

OPTIONS = {"plain": [], "exact": ["--exact"]}
FAMILIES = {
    "arithmetic": {
        "1 + 2 * 3": {"plain": "7", "exact": "7"},
        "0.1 + 0.2": {"plain": "0.3", "exact": "3/10"},
        "1 / 3": {"plain": "0.333333333333", "exact": "1/3"},
        "-7 // 2": {"plain": "-4", "exact": "-4"},
        "x = 7; x % 4": {"plain": "3", "exact": "3"},
    },
    "powers": {
        "2 ^ 10": {"plain": "1024", "exact": "1024"},
        "2 ^ -2": {"plain": "0.25", "exact": "1/4"},
        "2 ^ 3 ^ 2": {"plain": "512", "exact": "512"},
        "10!": {"plain": "3628800", "exact": "3628800"},
        "3 ^ 40": {"plain": "1.21576654591e+19", "exact": "12157665459056928801"},
    },
}


def main():
    """Exit 1 with every expression that gave something else."""
    family, mode = os.environ["FAMILY"], os.environ["MODE"]
    faults = 0
    for expression, values in FAMILIES[family].items():
        command = [sys.executable, sys.argv[1], *OPTIONS[mode], "--", expression]
        done = subprocess.run(command, capture_output=True, text=True)
        right = done.stdout.strip() == values[mode]
        faults += not right
        print(f"{'ok   ' if right else 'WRONG'} {expression} = {done.stdout.strip() or done.stderr.strip()}")
    print(f"{family}, {mode}: {len(FAMILIES[family])} expressions, {faults} wrong")
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
