"""What scripts find on this machine, in words for people who have named an image."""

import platform
import re
import subprocess
from collections.abc import Mapping
from functools import cache
from typing import Final

PROGRAMS: Final[Mapping[str, tuple[str, ...]]] = {"bash": ("bash", "--version"), "Python": ("python3", "--version")}
"""What is named besides the system, and the command that tells its version."""
VERSION: Final = re.compile(r"(?<![\d.])\d+(?:\.\d+)+")
PATIENCE: Final = 5.0
"""Seconds for one of these commands."""


@cache
def machine_words() -> str:
    """System and programs with their versions, `Debian GNU/Linux 12 (bookworm), bash 5.2.15, Python 3.11.2`.

    Asked once, with blocking calls. A program that is not on this process' PATH is left out.
    """
    programs = (f"{name} {version}" for name, command in PROGRAMS.items() if (version := _version(command)))
    return ", ".join((_system(), *programs))


def _system() -> str:
    try:
        return platform.freedesktop_os_release()["PRETTY_NAME"]
    except (OSError, KeyError):
        return platform.system()


def _version(command: tuple[str, ...]) -> str:
    try:
        said = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return ""
    found = VERSION.search(said)
    return found[0] if found else ""
