"""Where the socket of the step runner is, and how it is opened: a living one is never taken away, a dead one is."""

import os
import socket
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from domain.errors import Invalid, Refused
from files.locks import is_taken

VARIABLE: Final = "PERDURE_STEP_RUNNER_SOCKET"
"""The environment variable that names another place."""
_NAME: Final = "step-runner.sock"
_OF_ROOT: Final = Path("/run/perdure")
MAX_PATH: Final = 107
"""Bytes of the path of a socket (unix(7))."""
_PRIVATE: Final = 0o700
_BACKLOG: Final = 512


def socket_path(environment: Mapping[str, str], user: int) -> Path:
    """Where the socket is: by the variable; else of root in `/run/perdure`, of others in their runtime folder."""
    if named := environment.get(VARIABLE):
        return Path(named)
    if user == 0:
        return _OF_ROOT / _NAME
    if runtime := environment.get("XDG_RUNTIME_DIR"):
        return Path(runtime) / "perdure" / _NAME
    return Path(environment.get("TMPDIR", "/tmp")) / f"perdure-{user}" / _NAME  # noqa: S108  # its folder is checked


@contextmanager
def opened(path: Path) -> Iterator[socket.socket]:
    """The listening socket for as long as the block lasts, for this user alone; it is gone afterwards.

    Raises `Refused` where a living step runner has it, `Invalid` for a place that is not this user's own.
    """
    if len(os.fsencode(path)) > MAX_PATH:
        raise Invalid(f"the path of a socket has at most {MAX_PATH} bytes; {path} has {len(os.fsencode(path))}")
    _check_folder(path)
    lock = os.open(path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        if not is_taken(lock):
            raise Refused(f"a step runner listens at {path} already")
        if path.is_symlink() or (path.exists() and not stat.S_ISSOCK(path.lstat().st_mode)):
            raise Invalid(f"{path} is there, and no socket; remove it, or set {VARIABLE}")
        path.unlink(missing_ok=True)
        with socket.socket(socket.AF_UNIX) as listening:
            before = os.umask(0o177)
            try:
                listening.bind(str(path))
            finally:
                os.umask(before)
            listening.listen(_BACKLOG)
            try:
                yield listening
            finally:
                path.unlink(missing_ok=True)
    finally:
        os.close(lock)


def _check_folder(path: Path) -> None:
    """Its folder is made, or is this user's, and nobody else may come in."""
    folder = path.parent
    folder.mkdir(mode=_PRIVATE, parents=True, exist_ok=True)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o077:
        raise Invalid(
            f"{folder} must be a folder of this user that nobody else may enter (mode 0700): whoever reaches the "
            f"socket runs commands as this user. Correct it, or set {VARIABLE}"
        )
