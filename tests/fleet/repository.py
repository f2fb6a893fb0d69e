"""A repository that jobs fetch, from its folder or from any web server."""

import subprocess
from dataclasses import dataclass
from pathlib import Path


@dataclass
class Repository:
    """A bare repository with two commits on main."""

    path: Path
    first: str
    second: str


def git(folder: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=A", "-c", "user.email=a@example.com"]
    done = subprocess.run(["git", *identity, *arguments], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def make_repository(folder: Path) -> Repository:
    """`folder/repo.git`, ready for a web server that knows nothing of git."""
    work = folder / "work"
    work.mkdir()
    git(work, "init", "--quiet", "--initial-branch=main")
    shas = []
    for text in ("one", "two"):
        (work / "file").write_text(text)
        git(work, "add", "file")
        git(work, "commit", "--quiet", "-m", text)
        shas.append(git(work, "rev-parse", "HEAD"))
    git(folder, "clone", "--quiet", "--bare", "work", "repo.git")
    git(folder / "repo.git", "update-server-info")
    return Repository(folder / "repo.git", *shas)
