"""No pattern that somebody else has written is read by `re` or `fnmatch`, which may take for ever: RE2 reads them."""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parents[2]
_NOT_SERVED: Final = {"tests", "bench", "rigs", "examples"}
OURS: Final = sorted(
    file
    for folder in ROOT.iterdir()
    if folder.is_dir() and (folder / "__init__.py").is_file() and folder.name not in _NOT_SERVED
    for file in folder.rglob("*.py")
)
ESCAPED: Final = {
    "auth/job_routes.py": "the paths of our own routes",
    "auth/key_ring.py": "the purposes of our own keys",
    "cli/plain_reasons.py": "our own words for what libraries write",
    "domain/masking.py": "beginnings of tokens, each of them escaped",
    "domain/schedules/cron_fields.py": "short names of months and days of ours",
    "pods/patience.py": "our own words",
}
"""Where a pattern is put together at run time, and of what; nothing that anybody sends."""
_FUNCTIONS: Final = {"compile", "match", "search", "fullmatch", "sub", "subn", "split", "findall", "finditer"}


def put_together(tree: ast.Module) -> Iterator[int]:
    """The lines in which `re` gets a pattern that is no constant of its module."""
    constants = set(_constants(tree))
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _is_re(node.func) and node.args and not _is_constant(node.args[0], constants):
            yield node.lineno


def _is_re(function: ast.expr) -> bool:
    return (
        isinstance(function, ast.Attribute)
        and function.attr in _FUNCTIONS
        and isinstance(function.value, ast.Name)
        and function.value.id == "re"
    )


def _constants(tree: ast.Module) -> Iterator[str]:
    for node in tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        for target in targets:
            if isinstance(target, ast.Name) and target.id.isupper():
                yield target.id
        if isinstance(node, ast.ImportFrom):
            yield from (name.name for name in node.names if name.name.isupper())


def _is_constant(node: ast.expr, constants: set[str]) -> bool:
    if isinstance(node, ast.Name):
        return node.id in constants
    if isinstance(node, ast.BinOp):
        return _is_constant(node.left, constants) and _is_constant(node.right, constants)
    if isinstance(node, ast.JoinedStr):
        return all(_is_constant(part, constants) for part in node.values)
    if isinstance(node, ast.FormattedValue):
        return _is_constant(node.value, constants)
    return isinstance(node, ast.Constant)


def modules_of(tree: ast.Module) -> Iterator[str]:
    """Everything that a file imports, in every form."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield f"{node.module} import"


def test_patterns_that_re_reads_are_ours() -> None:
    found = {}
    for file in OURS:
        tree = ast.parse(file.read_text())
        lines = list(put_together(tree))
        assert not {"fnmatch", "fnmatch import", "glob", "re import"} & set(modules_of(tree)), file
        if lines:
            found[str(file.relative_to(ROOT))] = lines
    assert set(found) == set(ESCAPED), found


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("import re\ndef f(x):\n    re.match(x, 'a')", [3]),
        ("import re\nA = 'b'\nB = re.compile(rf'{A}+')", []),
        ("import re\ndef f(x):\n    return re.compile('a' + x)", [3]),
        ("import re\ndef f(x):\n    return re.sub(f'a{x}', '', '')", [3]),
        ("import re\nre.compile('(a|b)' * 3)", []),
    ],
)
def test_the_walk_sees_what_it_looks_for(text: str, lines: list[int]) -> None:
    assert list(put_together(ast.parse(text))) == lines
