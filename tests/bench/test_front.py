"""What the bench reads of the attack, and that it has its rigs without the tests."""

import ast
import json
from pathlib import Path

from bench.front import rows_of
from bench.rows import Row, Side

ROOT = Path(__file__).parents[2]


def test_each_attack_is_three_figures_of_which_the_ratio_is_judged() -> None:
    line = json.dumps({"front": "nginx", "kind": "held", "idle": 0.002, "attacked": 0.003})
    assert list(rows_of(line)) == [
        Row("front, nginx, held: p99 idle", 2.0, "ms"),
        Row("front, nginx, held: p99 attacked", 3.0, "ms"),
        Row("front, nginx, held: attacked / idle", 1.5, "", 2.0, Side.AT_MOST),
    ]


def test_neither_benches_nor_rigs_import_tests() -> None:
    files = [*(ROOT / "bench").glob("*.py"), *(ROOT / "rigs").glob("*.py")]
    assert len(files) > 30
    for file in files:
        for node in ast.walk(ast.parse(file.read_text())):
            names = [one.name for one in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert not [name for name in names if name.split(".")[0] == "tests"], file.name
