"""Where a command stands: the git checkout around a folder, or the folder alone."""

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final

from domain.errors import NotFound, Unavailable
from git.working_copy.checkout import Checkout

UNKNOWN_SHA: Final = "0" * 40
SERVER: Final = "http://localhost"
"""Stands for the server where none is known."""


@dataclass(frozen=True, slots=True)
class Workplace:
    """What is known of the project at hand. `ref` is empty where HEAD is at no branch or tag; `sha` may be zeros."""

    checkout: Checkout
    project_path: str
    ref: str
    default_branch: str
    is_tag: bool = False
    sha: str = UNKNOWN_SHA
    message: str = ""
    author: str = ""
    committed_at: datetime | None = None
    server_url: str = SERVER


def workplace(folder: Path, root: str = "") -> Workplace:
    """Look around; outside of a checkout the folder is the project, as is `root` wherever it is.

    Raises `Invalid` when git refuses to read the checkout, `NotFound` for a root that is no folder.
    """
    checkout = plain_folder(Path(root)) if root else _checkout(folder)
    head, commit = checkout.head, checkout.commit
    return Workplace(
        checkout=checkout,
        project_path=checkout.project_path,
        server_url=checkout.server_url or SERVER,
        ref=head.ref if head else checkout.default_branch,
        default_branch=checkout.default_branch,
        is_tag=bool(head and head.is_tag),
        sha=checkout.sha or UNKNOWN_SHA,
        message=commit.message if commit else "",
        author=f"{commit.author_name} <{commit.author_email}>" if commit else "",
        committed_at=commit.committed_at if commit else None,
    )


def plain_folder(folder: Path) -> Checkout:
    """A folder with its files as they are, whether it is in a checkout or not. Raises `NotFound`."""
    if not folder.is_dir():
        raise NotFound(f"There is no folder {folder}.")
    return Checkout(folder.resolve(), is_repository=False)


def _checkout(folder: Path) -> Checkout:
    try:
        return Checkout.find(folder)
    except Unavailable:
        return plain_folder(folder)
