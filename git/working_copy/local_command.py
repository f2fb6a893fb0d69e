"""Runs the git command in somebody's working copy, with that person's settings; for the command line only.

The server's repositories are read by `git.command`, which trusts nothing around it.
"""

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from domain.errors import TooLarge, Unavailable
from git.output import OUTPUT_LIMIT, Completed

_LOCATIONS: Final = frozenset(
    "GIT_ALTERNATE_OBJECT_DIRECTORIES GIT_COMMON_DIR GIT_DIR GIT_INDEX_FILE GIT_NAMESPACE GIT_OBJECT_DIRECTORY"
    " GIT_PREFIX GIT_WORK_TREE".split()
)
"""Variables that git sets for hooks; they would lead away from the folder that is meant."""
_ALWAYS: Final = {"LC_ALL": "C.UTF-8", "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "GIT_PAGER": "cat"}
_OPTIONS: Final = ("-c", "core.fsmonitor=false", "-c", "core.quotePath=false", "-c", "log.showSignature=false")


def run_in(folder: Path, *arguments: str, limit: int = OUTPUT_LIMIT) -> Completed:
    """Run `git ARGUMENTS` in a folder to its end, whatever its exit code.

    Raises `TooLarge` when it writes more than `limit` bytes, `Unavailable` when there is no git command.
    """
    variables = {name: value for name, value in os.environ.items() if name not in _LOCATIONS} | _ALWAYS
    command = ["git", "-C", str(folder), *_OPTIONS, *arguments]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, env=variables, check=False)
    except FileNotFoundError as error:
        raise Unavailable("The git command is not on PATH; install git 2.39 or later.") from error
    if len(done.stdout) > limit:
        raise TooLarge(f"git {arguments[0]} in {folder} wrote more than {limit} bytes.")
    return Completed(done.returncode, done.stdout, done.stderr.decode("utf-8", "replace").strip())


def paths_in(folder: Path, *arguments: str, limit: int = OUTPUT_LIMIT) -> tuple[str, ...]:
    """What a git command with `-z` lists. Raises `Unavailable` when it fails."""
    done = run_in(folder, *arguments, limit=limit)
    if done.code:
        raise Unavailable(_failed(folder, arguments, done))
    return tuple(entry for entry in done.out.decode("utf-8", "replace").split("\0") if entry)


def line_in(folder: Path, *arguments: str) -> str:
    """The one line that a git command writes; empty when it fails."""
    done = run_in(folder, *arguments)
    return "" if done.code else done.out.decode("utf-8", "replace").strip()


def _failed(folder: Path, arguments: Sequence[str], done: Completed) -> str:
    return f"git {' '.join(arguments)} in {folder} ended with {done.code}: {done.err or 'no message'}"
