"""How the step runner starts itself, for a part of its work: by the interpreter, or, in a bundle, by a word."""

import importlib
import sys
from pathlib import Path
from typing import Final

PART: Final = "--part"
"""The word after which a bundle is given a part of PARTS; nobody else calls that."""
START: Final = "start"
"""The name of what starts the program of a bundle; it lies beside it."""
PARTS: Final = {"spawning": "steps.service.spawning", "images": "steps.oci.command"}
"""Modules by the name of the part; the `main` of each is called."""
_ROOT: Final = str(Path(__file__).resolve().parents[1])
_CODE: Final = "import sys; sys.path.insert(0, {root!r}); from steps.own_program import run_part; run_part({part!r})"


def is_bundle() -> bool:
    """Whether this runs from a bundle, where there is no interpreter that could be called."""
    return bool(getattr(sys, "frozen", False))


def own_command(part: str) -> list[str]:
    """The words that start a part. Modules that lie about where it is started are not imported (`-P`)."""
    if is_bundle():
        return [str(Path(sys.executable).with_name(START)), PART, part]
    return [sys.executable, "-P", "-c", _CODE.format(root=_ROOT, part=part)]


def run_part(part: str) -> None:
    """Run a part; its arguments are those of the process."""
    importlib.import_module(PARTS[part]).main()
