"""The file that says that a home is being restored: while it is there, nothing starts in that home."""

import json
from pathlib import Path
from typing import Final

from domain.errors import Refused
from files import durable

FILE: Final = "restoring.json"


def begin(home: Path, archive: Path) -> None:
    """From now on nothing starts here; on disk when it returns."""
    home.mkdir(parents=True, exist_ok=True, mode=0o700)
    durable.replace(home / FILE, json.dumps({"archive": str(archive.resolve())}).encode())


def end(home: Path) -> None:
    """The restore is whole."""
    (home / FILE).unlink(missing_ok=True)
    durable.sync_folder(home)


def is_begun(home: Path) -> bool:
    """Whether a restore was begun here and has not ended."""
    return (home / FILE).exists()


def refuse_half_restored(home: Path) -> None:
    """Raise `Refused` for a home whose restore has not ended."""
    try:
        archive = json.loads((home / FILE).read_text()).get("archive", "FILE")
    except FileNotFoundError:
        return
    except (ValueError, AttributeError):
        archive = "FILE"
    raise Refused(
        f"{home.resolve()} was only half restored from a backup. Run `perdure restore {archive}` again; it begins anew."
    )
