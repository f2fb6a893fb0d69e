"""The file that says that a home is being restored: while it is there, nothing starts in that home."""

import json
from pathlib import Path
from typing import Final

from domain.errors import Refused
from files import durable

FILE: Final = "restoring.json"


def begin(home: Path, archive: Path, *, in_place: bool) -> None:
    """From now on nothing starts here; on disk when it returns.

    `in_place`: what is restored is the installation that was here, and no copy beside it.
    """
    home.mkdir(parents=True, exist_ok=True, mode=0o700)
    says = {"archive": str(archive.resolve()), "in_place": in_place}
    durable.replace(home / FILE, json.dumps(says).encode())


def is_in_place(home: Path) -> bool:
    """Whether the restore that was begun here puts back the installation that was here."""
    try:
        return json.loads((home / FILE).read_text()).get("in_place") is True
    except (FileNotFoundError, ValueError, AttributeError):
        return False


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
