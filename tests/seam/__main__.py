"""Take each rule out, one after the other, and see that its test turns red: `python -m tests.seam [WORD ...]`.

With words, only rules whose heading or text holds one of them. Works in a copy of what git knows.
"""

import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.seam.every import EVERY
from tests.seam.removal import ROOT, Removal, is_noticed


def chosen(words: list[str]) -> list[Removal]:
    """The removals whose rule or text holds one of the words; all without words."""
    return [
        one for one in EVERY if not words or any(word.lower() in f"{one.rule} {one.says}".lower() for word in words)
    ]


def copy_to(folder: Path) -> None:
    """Copy every file that git knows or would take, as it is now."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    for name in subprocess.check_output(command, cwd=ROOT, text=True).split("\0"):
        if name and (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)


def main() -> int:
    """Print a line for each; 1 if a test did not notice."""
    removals = chosen(sys.argv[1:])
    missed = 0
    with tempfile.TemporaryDirectory(prefix="perdure-seam-") as name:
        folder = Path(name)
        copy_to(folder)
        for removal in removals:
            begun = time.monotonic()
            noticed = is_noticed(removal, folder)
            missed += not noticed
            mark = "red  " if noticed else "GREEN"
            print(
                f"{mark} {time.monotonic() - begun:6.1f} s  {removal.rule}: {removal.says} ({removal.test})", flush=True
            )
    print(f"{len(removals)} taken out, {len(removals) - missed} noticed, {missed} not")
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
