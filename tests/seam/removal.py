"""How a rule is taken out of the code, and which tests must notice."""

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
_TESTS_FAILED: Final = 1
"""How pytest ends when tests ran and some failed; 2 and more say that it could not run them."""


@dataclass(frozen=True, slots=True)
class Removal:
    """In `file`, the text `old`, which is there once, becomes `new`; then `test` (an id of pytest) has to fail.

    `rule` is the heading of a rule in `docs/seam.md`, `says` what is taken out.
    """

    rule: str
    says: str
    file: str
    old: str
    new: str
    test: str


def fault(removal: Removal) -> str:
    """Why a removal does not fit the code any more; empty when it does."""
    found = (ROOT / removal.file).read_text().count(removal.old)
    if found != 1:
        return f"{removal.file} holds {removal.old!r} {found} times, not once"
    path, _, name = removal.test.partition("::")
    if not (ROOT / path).is_file() or f"def {name.partition('[')[0]}(" not in (ROOT / path).read_text():
        return f"there is no test {removal.test}"
    return ""


def is_noticed(removal: Removal, copy: Path) -> bool:
    """Whether the test fails in a copy of the project from which the rule is taken out. The copy is mended again.

    Raises `RuntimeError` when the test could not be run.
    """
    file = copy / removal.file
    text = file.read_text()
    file.write_text(text.replace(removal.old, removal.new))
    try:
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", removal.test]
        ended = subprocess.run(
            command, cwd=copy, env=_environment(copy), capture_output=True, text=True, timeout=600, check=False
        )
    finally:
        file.write_text(text)
    if ended.returncode > _TESTS_FAILED:
        raise RuntimeError(f"{removal.test} could not be run:\n{ended.stdout[-4000:]}{ended.stderr[-2000:]}")
    return ended.returncode == _TESTS_FAILED


def _environment(copy: Path) -> dict[str, str]:
    """The copy's modules come before those of the project, in processes that a test starts as well."""
    return {**os.environ, "PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}
