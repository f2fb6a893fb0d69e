"""The templates that ship with the product (`include:template`): files below `includes/templates`."""

from collections.abc import Iterator
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Final

ENDING: Final = ".gitlab-ci.yml"
"""How the name of every template ends (docs/reference/ci-yaml.md, "Includes")."""


def names() -> tuple[str, ...]:
    """All names, as `include:template` takes them, sorted."""
    return tuple(sorted(_found()))


def load(name: str) -> str | None:
    """The text of a template; None if there is none of exactly this name, so that no name leads out of the folder."""
    file = _found().get(name)
    return None if file is None else file.read_text(encoding="utf-8")


def _found() -> dict[str, Traversable]:
    return dict(_walk(files("includes") / "templates", ""))


def _walk(folder: Traversable, prefix: str) -> Iterator[tuple[str, Traversable]]:
    for entry in folder.iterdir():
        name = prefix + entry.name
        if entry.is_dir():
            yield from _walk(entry, f"{name}/")
        elif name.endswith(ENDING):
            yield name, entry
