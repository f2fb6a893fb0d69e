"""The user's own git configuration: that git asks `perdure git-credential` for the token of a server."""

import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

from cli.git_credential import COMMAND
from domain.errors import Invalid

_OURS: Final = f"^$|{COMMAND}$"
"""Values that are ours: the helper, and the empty one before it that makes git forget the helpers of all servers."""
_NOTHING_THERE: Final = 5
"""Git's exit status where there is nothing to unset."""


def git_is_there() -> bool:
    """Whether this machine has git."""
    return shutil.which("git") is not None


def uses_our_helper(url: str) -> bool:
    """Whether git asks us already for the token of a server."""
    return helper() in _git("--get-all", _key(url), may=1).splitlines()


def use_our_helper(url: str) -> None:
    """Let git ask us, and no other helper, which might write the token elsewhere. Raises `Invalid`."""
    forget_our_helper(url)
    for value in ("", helper()):
        _git("--add", _key(url), value)


def forget_our_helper(url: str) -> None:
    """Undo it; a helper of the user's own stays. Raises `Invalid`."""
    _git("--unset-all", _key(url), _OURS, may=_NOTHING_THERE)


def helper() -> str:
    """What git runs, as a command of the shell to which it adds the operation."""
    program = Path(sys.executable).with_name("perdure")
    words = [str(program)] if program.exists() else [sys.executable, "-m", "cli.main"]
    return f"!{shlex.join([*words, COMMAND])}"


def _key(url: str) -> str:
    return f"credential.{url}.helper"


def _git(*arguments: str, may: int = 0) -> str:
    """What `git config` prints of the user's own file; an exit status that may be is none of an error."""
    if not git_is_there():
        raise Invalid("git is not on this machine, or not in PATH. Install it, or leave `--git` out.")
    done = subprocess.run(("git", "config", "--global", *arguments), capture_output=True, text=True, check=False)
    if done.returncode not in {0, may}:
        raise Invalid(f"git's configuration was not changed: {done.stderr.strip() or f'status {done.returncode}'}.")
    return done.stdout
