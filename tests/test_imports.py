"""No module needs another one that needs it, not even for a type or inside a function."""

import ast
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from tests.program import ROOT

NOT_OURS = {".venv", "tests", "examples"}


def modules() -> Mapping[str, Path]:
    """Our modules by name."""
    paths = (path.relative_to(ROOT) for top in ROOT.iterdir() if top.name not in NOT_OURS for path in sources(top))
    return {".".join(path.with_suffix("").parts).removesuffix(".__init__"): path for path in paths}


def sources(top: Path) -> Iterator[Path]:
    """The Python files of a folder, or the file itself."""
    if top.is_dir() and not top.name.startswith("."):
        yield from top.rglob("*.py")
    elif top.suffix == ".py":
        yield top


def imported(text: str, known: Mapping[str, object]) -> set[str]:
    """The modules that a text imports, wherever it does."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            inner = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= inner & known.keys() or {node.module}
    return found & known.keys()


def test_no_imports_go_in_a_circle() -> None:
    known = modules()
    graph = {name: imported((ROOT / path).read_text(), known) for name, path in known.items()}
    assert sum(map(len, graph.values())) > 4 * len(graph)  # they were found
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" imports ".join(reversed(error.args[1])))
