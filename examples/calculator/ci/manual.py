"""Writes the manual from the tables, or checks what it says against the packed calculator.

`python3 ci/manual.py write MANUAL`, `python3 ci/manual.py check MANUAL ARCHIVE`
"""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from calculator.operations import CONSTANTS, FUNCTIONS, OPERATORS  # noqa: E402


def write(manual):
    """One line for each operator and constant, one example for each function."""
    lines = ["The calculator", "", f"Operators: {' '.join(OPERATORS)} !", f"Constants: {' '.join(CONSTANTS)}", ""]
    for name, function in FUNCTIONS.items():
        lines.append(f"{name}: {function.summary}. Example: {' = '.join(function.example)}")
    manual.parent.mkdir(parents=True, exist_ok=True)
    manual.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"{manual}: {len(FUNCTIONS)} functions")


def check(manual, archive):
    """Compute every example of the manual with the archive; exit 1 if one is wrong or none is there."""
    examples = [line.split("Example: ")[1].rsplit(" = ", 1) for line in manual.read_text().splitlines() if "Example" in line]
    wrong = 0 if examples else 1
    for expression, value in examples:
        done = subprocess.run([sys.executable, str(archive), expression], capture_output=True, text=True)
        right = done.stdout.strip() == value
        wrong += not right
        print(f"{'ok   ' if right else 'WRONG'} {expression} = {done.stdout.strip() or done.stderr.strip()}")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    if sys.argv[1] == "write":
        write(Path(sys.argv[2]))
    else:
        check(Path(sys.argv[2]), Path(sys.argv[3]))
