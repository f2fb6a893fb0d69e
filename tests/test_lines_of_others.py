"""Texts of others are cut at newlines alone: `domain/text_lines.py` says why."""

import ast
from pathlib import Path

ROOT = Path(__file__).parent.parent
OURS = {
    "api/v4/rest_resources.py": "a table of our own",
    "cli/doctor_checks/local.py": "words of our own",
    "cli/git_settings.py": "commands of our own",
    "cli/pods/route.py": "addresses that a person types",
    "cli/remote/pipeline.py": "printed line by line",
    "domain/masking.py": "a secret is hidden wherever a tool may break its lines",
    "git/reading/shadowing.py": "bytes, whose lines end at returns and newlines, which no ref has",
    "pods/run_folder.py": "printed line by line",
    "steps/engine/programs.py": "one line to show",
}
"""Where Python's own lines do no harm, and why."""
OTHERS = {"tests", "bench", "examples", "rigs", ".venv", ".perdure", "docs", "deploy"}


def test_nobody_else_uses_pythons_own_lines() -> None:
    found = {
        str(file.relative_to(ROOT))
        for file in ROOT.rglob("*.py")
        if file.relative_to(ROOT).parts[0] not in OTHERS
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Attribute) and node.attr == "splitlines"
    }
    assert found == OURS.keys()
