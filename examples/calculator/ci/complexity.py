"""Refuses functions with more branches than a limit: `python3 ci/complexity.py LIMIT FOLDER ...`."""

import ast
import sys
from pathlib import Path

BRANCHES = (ast.If, ast.IfExp, ast.For, ast.While, ast.BoolOp, ast.ExceptHandler)


def branches(function):
    """How many places of a function choose between ways."""
    return sum(isinstance(node, BRANCHES) for node in ast.walk(function))


def main():
    """Print each function above the limit; exit 1 if there is one."""
    limit, folders = int(sys.argv[1]), sys.argv[2:]
    above = [
        f"{path}:{node.lineno}: {node.name} has {branches(node)} branches, at most {limit}"
        for folder in folders
        for path in sorted(Path(folder).rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef) and branches(node) > limit
    ]
    print("\n".join(above) or f"no function has more than {limit} branches")
    sys.exit(bool(above))


if __name__ == "__main__":
    main()
