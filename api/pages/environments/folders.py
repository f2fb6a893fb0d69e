"""Environments by folder: `review/fix` and `review/more` stand together under `review`, as in GitLab."""

from collections.abc import Iterable
from dataclasses import dataclass

from application.environments.deployed import Standing


@dataclass(frozen=True, slots=True)
class Folder:
    """Environments with one beginning, or one that stands alone (`name` is empty then)."""

    name: str
    standings: tuple[Standing, ...]


def folders_of(standings: Iterable[Standing]) -> list[Folder]:
    """The folders of a list in its order; whatever is in none stands where it stood."""
    found: dict[str, list[Standing]] = {}
    for one in standings:
        folder, slash, _ = one.environment.name.partition("/")
        # No environment is called "x/": what ends so cannot be taken for one that stands alone.
        found.setdefault(f"{folder}/" if slash else one.environment.name, []).append(one)
    return [Folder(name.removesuffix("/") if name.endswith("/") else "", tuple(those)) for name, those in found.items()]
