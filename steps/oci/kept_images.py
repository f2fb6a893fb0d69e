"""Where the images of steps are kept: by registry, repository and machine, by tag, and by digest."""

import hashlib
import platform
from pathlib import Path
from typing import Final

from domain.steps.images import DIGEST, platform_of
from domain.steps.references import OciReference
from steps.engine.fetched_place import FetchedPlace

THIS_MACHINE: Final = platform_of(platform.system(), platform.machine())


def place_of(cache: Path, reference: OciReference) -> FetchedPlace:
    """Where the images of a repository are kept, for machines like this one."""
    location = f"{reference.registry}/{reference.repository} {THIS_MACHINE}"
    return FetchedPlace(cache / "images" / hashlib.sha256(location.encode()).hexdigest()[:32])


def known(place: FetchedPlace, tag: str) -> str:
    """The digest of the image that a tag was not long ago, if its files are here; else nothing."""
    digest = place.known(tag, is_lasting=bool(DIGEST.fullmatch(tag)))
    return digest if digest and tree_of(place, digest).is_dir() else ""


def tree_of(place: FetchedPlace, digest: str) -> Path:
    """Where the files of an image are."""
    return place.tree(digest.removeprefix("sha256:"))
