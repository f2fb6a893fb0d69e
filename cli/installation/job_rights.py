"""As whom the jobs of the built-in runner run: another user, the server's in namespaces, or simply the server's.

Root runs them as another user of this machine, which is made if there is none yet. Anybody else hides the server's
folders from them, where the kernel gives namespaces to everybody.
"""

import contextlib
import fcntl
import os
import pwd
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from domain.errors import NotFound, Refused
from fleet.executors.hidden_folders import HiddenFolders
from fleet.executors.job_user import JobUser
from pods.stack import hidden_folders
from settings import Settings

USER: Final = "perdure-jobs"
"""The user that is made."""
_NAMESPACES: Final = "PERDURE_JOBS_AS=namespaces"
_HOMES: Final = Path("/var/lib")
_LIMIT: Final = 30.0
"""Seconds that making the user, or trying namespaces, may take."""


def with_job_rights(settings: Settings) -> Settings:
    """The settings with the way in force in the place of `auto`.

    Raises NotFound or Refused where a way that somebody asked for is none on this machine.
    """
    match settings.jobs_as:
        case "auto":
            return settings.model_copy(update={"jobs_as": _best(settings)})
        case "namespaces":
            if os.geteuid() == 0:
                raise Refused(f"{_NAMESPACES} hides nothing from root; name a user, or leave it away.")
            if reason := _without_namespaces(settings):
                raise Refused(f"{_NAMESPACES} does not work on this machine: {reason}")
        case "server":
            pass
        case name:
            _check(name)
    return settings


def _best(settings: Settings) -> str:
    if os.geteuid() == 0:
        return USER if _has_user() else "server"
    return "server" if _without_namespaces(settings) else "namespaces"


def _has_user() -> bool:
    """Whether there is such a user that jobs can run as, now that we have made it if nobody had."""
    with _alone():
        if not _is_there() and (command := shutil.which("useradd")):
            options = ["--system", "--user-group", "--create-home", "--home-dir", str(_HOMES / USER)]
            subprocess.run(
                [command, *options, "--shell", "/bin/sh", USER], check=False, timeout=_LIMIT, capture_output=True
            )
    try:
        _check(USER)
    except (NotFound, Refused):
        return False
    return True


@contextlib.contextmanager
def _alone() -> Iterator[None]:
    """Two servers of one machine do not make the user at the same time."""
    folder = os.open(_HOMES, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)


def _is_there() -> bool:
    try:
        pwd.getpwnam(USER)
    except KeyError:
        return False
    return True


def _check(name: str) -> None:
    user = JobUser.named(name)
    if not user.home.is_dir() or user.home.stat().st_uid != user.uid:
        raise Refused(
            f"PERDURE_JOBS_AS={name}: the home of this user ({user.home}) is no folder of theirs; jobs need one."
        )


def _without_namespaces(settings: Settings) -> str:
    """Why there are none for us; empty if there are."""
    with HiddenFolders(hidden_folders(settings), ()).launch(("/bin/true",), {}) as launch:
        tried = subprocess.run(
            launch.arguments,
            env=dict(launch.environment),
            capture_output=True,
            text=True,
            check=False,
            timeout=_LIMIT,
            **launch.options,
        )
    return "" if tried.returncode == 0 else tried.stderr.strip() or f"status {tried.returncode}"
