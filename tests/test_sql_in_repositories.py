"""SQL is written in `models/repositories` only: doors, use cases and loops neither make statements nor execute them."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("activities", "api", "application", "loops")
EXECUTING = {"execute", "scalar", "scalars", "stream"}
MAKING = {"where", "select_from", "with_only_columns", "order_by", "group_by", "outerjoin"}
TYPES = {"AsyncConnection", "Select"}
"""What may be named of SQLAlchemy there: what is handed on."""


def sql_in(tree: ast.Module) -> Iterator[int]:
    """Lines in which a statement is made or executed."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "sqlalchemy":
            if node.module != "sqlalchemy.exc" and not {alias.name for alias in node.names} <= TYPES:
                yield node.lineno
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            of_connection = isinstance(node.func.value, ast.Name) and node.func.value.id == "connection"
            if node.func.attr in MAKING or (of_connection and node.func.attr in EXECUTING):
                yield node.lineno


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_folder_has_no_sql(folder: str) -> None:
    files = sorted((ROOT / folder).rglob("*.py"))
    assert files
    found = {str(file.relative_to(ROOT)): [*sql_in(ast.parse(file.read_text()))] for file in files}
    assert {name: lines for name, lines in found.items() if lines} == {}


@pytest.mark.parametrize(
    "code",
    [
        "from sqlalchemy import select",
        "rows = (await connection.execute(statement)).all()",
        "statement = listed(wanted).where(mine)",
    ],
)
def test_it_would_be_seen(code: str) -> None:
    assert [*sql_in(ast.parse(f"async def door():\n    {code}"))] == [2]
