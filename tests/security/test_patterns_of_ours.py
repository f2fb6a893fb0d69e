"""No pattern of ours takes more than in proportion for any text: a walk over the code finds each one with its uses."""

import ast
import importlib
import re
from collections.abc import Iterator
from typing import Any, Final, TypeGuard

import pytest

from tests.growth import assert_linear, cost
from tests.security.hostile_for_patterns import hostile
from tests.security.test_regular_expressions import OURS, ROOT

SIZE: Final = 2_000
"""Characters of a text: what grows with their square takes a hundredth of a second."""
QUICK: Final = 0.0005
"""Seconds for so many that need no closer look."""
METHODS: Final = frozenset({"match", "search", "fullmatch", "sub", "subn", "split", "findall", "finditer"})
BOUNDED: Final[dict[str, str]] = {
    "auth.keys._PEM": "the operator's own keys",
    "cli.doctor:183": "the version of git on this machine",
    "git.reading.history._STAT": "figures that git has written",
}
"""Patterns that nobody can give such texts, and why."""


def uses() -> Iterator[tuple[str, str, "re.Pattern[Any]"]]:
    """Every pattern of a module with each way in which it is used: name, method, pattern."""
    for file in OURS:
        if "import re\n" not in file.read_text():
            continue
        module = importlib.import_module(".".join(file.relative_to(ROOT).with_suffix("").parts))
        known = {name: value for name, value in vars(module).items() if isinstance(value, re.Pattern)}
        tree = ast.parse(file.read_text())
        used = set()
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in known:
                used.add((node.value.id, node.attr))
            elif isinstance(node, ast.Call) and _is_of_re(node.func) and isinstance(node.args[0], ast.Constant):
                yield f"{module.__name__}:{node.lineno}", node.func.attr, re.compile(node.args[0].value)
        for name, method in sorted(used & {(name, method) for name in known for method in METHODS}):
            yield f"{module.__name__}.{name}", method, known[name]


def _is_of_re(function: ast.expr) -> TypeGuard[ast.Attribute]:
    return (
        isinstance(function, ast.Attribute)
        and function.attr in METHODS
        and isinstance(function.value, ast.Name)
        and function.value.id == "re"
    )


USES: Final = {f"{name}.{method}": (name, method, pattern) for name, method, pattern in uses()}


def work(pattern: "re.Pattern[Any]", method: str, text: str) -> Any:
    """What the code does with the pattern."""
    data = text if isinstance(pattern.pattern, str) else text.encode("latin-1", "replace")
    if method in {"sub", "subn"}:
        return lambda: getattr(pattern, method)(data[:0], data)
    return lambda: (
        list(getattr(pattern, method)(data) or ()) if method == "finditer" else getattr(pattern, method)(data)
    )


@pytest.mark.parametrize("use", USES)
def test_a_pattern_costs_what_the_length_of_a_text_does(use: str) -> None:
    name, method, pattern = USES[use]
    if name in BOUNDED:
        return
    for start, piece in hostile(pattern):
        for end in ("", "\x02"):

            def made(size: int, start: str = start, piece: str = piece, end: str = end) -> Any:
                return work(pattern, method, start + piece * (size // len(piece)) + end)

            if cost(made(SIZE)) > QUICK:
                assert_linear(made, SIZE)
