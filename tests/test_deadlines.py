"""No test demands that something is fast: a deadline in a test ends what hangs, on a machine however busy."""

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import pytest

TESTS: Final = Path(__file__).parent
LEAST: Final = 20.0
"""Seconds; whoever demands fewer of a machine is refused by a busy one. Speed is a ratio, in `bench/`."""
DEADLINES: Final = {"timeout": 0, "wait_for": 1, "eventually": 2}
"""Functions that end a wait, and which of their arguments says when."""
HTTP: Final = re.compile(r"httpx\.(AsyncClient|Client|get|head|post|put|patch|delete|request|stream)")
"""What gives a server five seconds unless it is told otherwise; within this process nothing is timed."""
_OF_HTTPX: Final = 5.0
CLOCKS: Final = frozenset({"monotonic", "perf_counter", "process_time"})


def _number(node: ast.expr | None, known: Mapping[str, float]) -> float | None:
    """What a literal, a constant of the module, or a sum or product of those is worth."""
    match node:
        case ast.Constant(value=int() | float() as value):
            return float(value)
        case ast.Name(id=name):
            return known.get(name)
        case ast.BinOp(left=left, op=ast.Add() | ast.Mult() as op, right=right):
            one, other = _number(left, known), _number(right, known)
            if one is None or other is None:
                return None
            return one + other if isinstance(op, ast.Add) else one * other
    return None


def _constants(tree: ast.Module) -> dict[str, float]:
    known: dict[str, float] = {}
    for statement in tree.body:
        match statement:
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=value)
                | ast.AnnAssign(target=ast.Name(id=name), value=value)
            ):
                if (number := _number(value, known)) is not None:
                    known[name] = number
    return known


def _name(function: ast.expr) -> str:
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _is_expected(node: ast.AST) -> bool:
    """Whether the end of a wait within `node` is no failure."""
    match node:
        case ast.With() | ast.AsyncWith():
            text = "".join(ast.unparse(item.context_expr) for item in node.items)
            return "TimeoutError" in text
        case ast.Try():
            return any("TimeoutError" in ast.unparse(one.type) for one in node.handlers if one.type)
    return False


def _demands(node: ast.AST, known: Mapping[str, float]) -> Iterator[tuple[ast.expr, float | None]]:
    """What is demanded in `node`, and within how many seconds, unless it may take longer."""
    if _is_expected(node):
        return
    if isinstance(node, ast.Call) and (place := DEADLINES.get(_name(node.func))) is not None:
        given = node.args[place : place + 1] or [one.value for one in node.keywords if one.arg in ("timeout", "within")]
        yield from ((node, _number(one, known)) for one in given)
    if isinstance(node, ast.Call) and HTTP.fullmatch(ast.unparse(node.func)):
        named = {one.arg: _number(one.value, known) for one in node.keywords}
        if not named.keys() & {"transport", None}:
            yield node, named.get("timeout", _OF_HTTPX)
    if isinstance(node, ast.Compare) and isinstance(node.ops[-1], ast.Lt | ast.LtE):
        passed = [node.left, *node.comparators][-2]
        if isinstance(passed, ast.BinOp) and any(_name(one.func) in CLOCKS for one in _calls(passed)):
            yield node, _number(node.comparators[-1], known)
    for child in ast.iter_child_nodes(node):
        yield from _demands(child, known)


def _calls(node: ast.AST) -> Iterator[ast.Call]:
    return (one for one in ast.walk(node) if isinstance(one, ast.Call))


def hasty(source: str) -> list[str]:
    """The expressions of a module that fail on a machine that is too slow for them."""
    tree = ast.parse(source)
    found = _demands(tree, _constants(tree))
    return [f"{node.lineno}: {ast.unparse(node)}" for node, seconds in found if seconds is not None and seconds < LEAST]


@pytest.mark.parametrize(
    "source",
    [
        "async with asyncio.timeout(5): pass",
        "await asyncio.wait_for(one, 5)",
        "SOON = 2.5\nawait asyncio.wait_for(one, 2 * SOON)",
        "await eventually(look, 'it is there', 5)",
        "await eventually(look, 'it is there', within=5)",
        "httpx.get(url, timeout=5)",
        "async with httpx.AsyncClient(base_url=url) as client: pass",
        "assert time.monotonic() - begun < 3",
        "LIMIT: Final = 3\nassert 1 < time.process_time() - begun < LIMIT + 1",
    ],
)
def test_haste_is_found(source: str) -> None:
    assert len(hasty(source)) == 1


@pytest.mark.parametrize(
    "source",
    [
        "async with asyncio.timeout(HANGS): pass",
        "with pytest.raises(TimeoutError):\n    await asyncio.wait_for(one, 5)",
        "with suppress(TimeoutError):\n    await asyncio.wait_for(one, 5)",
        "try:\n    await asyncio.wait_for(one, 5)\nexcept TimeoutError:\n    pass",
        "httpx.AsyncClient(transport=httpx.ASGITransport(app))",
        "await asyncio.wait([one], timeout=0.2)",
        "assert time.monotonic() - begun >= 0.3",
    ],
)
def test_what_may_take_its_time_is_not(source: str) -> None:
    assert hasty(source) == []


def test_no_test_demands_speed() -> None:
    found = [
        f"{file.relative_to(TESTS)}:{text}" for file in sorted(TESTS.rglob("*.py")) for text in hasty(file.read_text())
    ]
    assert found == [], "\n".join(found)
