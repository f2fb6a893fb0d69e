"""What the runner does to the files of a job around its scripts, called by `fleet.executors.hands`."""

import os
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from domain.errors import Refused

STALE_LOCKS: Final = ("index.lock", "shallow.lock", "HEAD.lock", "config.lock", "packed-refs.lock")
"""Left by a git that was killed; every later git would refuse to work."""
HOME: Final = ".home"
"""The home of a job, among its temporary files; no variable has such a name."""


@dataclass(frozen=True, slots=True)
class WorkTree:
    """What is in a project's folder from an earlier job."""

    is_repository: bool
    is_shallow: bool = False


def make_place(builds_dir: Path, user: str) -> None:
    """Make the folder for the folders of jobs. Raises Refused where this process, which is `user`'s, may not."""
    try:
        builds_dir.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=builds_dir):
            pass
    except OSError as error:
        raise Refused(
            f"{user} cannot write in {builds_dir} ({error.strerror}), where jobs have their folders. Give a place "
            "that this user can reach (`builds_dir` in config.toml, or --builds-dir), or make it and give it to them."
        ) from error


def make_folders(project_dir: Path, temp_dir: Path, files: Mapping[Path, str], *, anew: bool) -> None:
    """Make the project's folder, `anew` an empty one, and the one for temporary files, with these files and a home."""
    if anew:
        shutil.rmtree(project_dir, ignore_errors=True)
    shutil.rmtree(temp_dir, ignore_errors=True)
    project_dir.mkdir(parents=True, exist_ok=True)
    temp_dir.mkdir(mode=0o700)
    (temp_dir / HOME).mkdir(mode=0o700)
    for path, content in files.items():
        new_file(path, content)


def new_file(path: Path, content: str = "") -> None:
    """Write a file that only its owner may read, in the place of what is there under its name."""
    path.unlink(missing_ok=True)
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(fd, "w", encoding="utf-8") as out:
        out.write(content)


def unlocked(folder: Path) -> WorkTree:
    """What is in a project's folder, once the locks of a killed git are removed."""
    git = folder / ".git"
    if not git.is_dir():
        return WorkTree(is_repository=False)
    for name in STALE_LOCKS:
        (git / name).unlink(missing_ok=True)
    return WorkTree(is_repository=True, is_shallow=(git / "shallow").exists())


def remove(folder: Path) -> None:
    """Remove a folder with all that is in it, as far as that is possible."""
    shutil.rmtree(folder, ignore_errors=True)
