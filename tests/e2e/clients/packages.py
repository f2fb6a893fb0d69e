"""The clients of others: which versions, from which registry, and how they are put into a folder."""

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.foreign.installing import install_once

Packages = tuple[str, ...]

NPM: Final[dict[str, Packages]] = {
    "semantic-release": ("semantic-release@24.2.9", "@semantic-release/gitlab@13.3.2"),
    "release-it": ("release-it@19.2.4",),
    "danger": ("danger@13.0.8",),
    "renovate": ("renovate@39.264.1",),
}
"""By client; all of them run on Node 20."""
PYPI: Final[dict[str, Packages]] = {
    "python-semantic-release": ("python-semantic-release==10.5.3",),
    "gitlabform": ("gitlabform==3.16.5",),
}


@dataclass(frozen=True)
class Installed:
    """A client that is there: the folder of its commands, and that of its libraries."""

    commands: Path
    libraries: Path

    def command(self, name: str) -> Path:
        """One of its commands."""
        return self.commands / name


def installed(client: str, folder: Path) -> Installed:
    """The client in a folder of its own below `folder`; without a registry the test is not run."""
    home = folder / client
    if client in PYPI:
        wanted = " ".join(PYPI[client])
        pip: tuple[str | Path, ...] = (home / "bin" / "pip", "install", "-q", *PYPI[client])
        install_once(home, wanted, ("python3", "-m", "venv", home), pip)
        return Installed(home / "bin", home / "lib")
    npm: tuple[str | Path, ...] = (
        "npm",
        "install",
        "--no-audit",
        "--no-fund",
        "--silent",
        "--prefix",
        home,
        *NPM[client],
    )
    install_once(home, " ".join(NPM[client]), ("mkdir", "-p", home), npm)
    return Installed(home / "node_modules" / ".bin", home / "node_modules")


def node_is_there() -> bool:
    """Whether Node runs here."""
    return shutil.which("node") is not None and shutil.which("npm") is not None
