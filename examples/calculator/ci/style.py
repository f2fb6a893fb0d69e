"""Checks the sources: lines of at most 120 characters, no trailing spaces, a docstring for everything public."""

import ast
import sys
from pathlib import Path

MAX_LENGTH = 120
NAMED = (ast.FunctionDef, ast.ClassDef)


def faults_of_lines(path, text):
    """Lines that are too long or end in spaces."""
    for number, line in enumerate(text.splitlines(), 1):
        if len(line) > MAX_LENGTH:
            yield f"{path}:{number}: {len(line)} characters, at most {MAX_LENGTH}"
        if line != line.rstrip():
            yield f"{path}:{number}: spaces at the end"


def faults_of_docstrings(path, node, public=True):
    """Public modules, classes and functions without a docstring."""
    if public and not ast.get_docstring(node):
        yield f"{path}:{getattr(node, 'lineno', 1)}: {getattr(node, 'name', 'module')} has no docstring"
    for child in getattr(node, "body", []):
        if isinstance(child, NAMED) and public:
            yield from faults_of_docstrings(path, child, not child.name.startswith("_"))


def main():
    """Check the folders named on the command line; exit 1 with every fault, also if nothing was there to check."""
    paths = [path for folder in sys.argv[1:] for path in sorted(Path(folder).rglob("*.py"))]
    faults = [] if paths else ["no Python file to check"]
    for path in paths:
        text = path.read_text(encoding="utf-8")
        faults += faults_of_lines(path, text)
        faults += faults_of_docstrings(path, ast.parse(text))
    print("\n".join(faults) or f"{len(paths)} files are in order")
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
