"""How tables show tag sets."""

from collections.abc import Sequence

from cli.output import Cell

NO_TAGS = "(no tags)"


def tags_cell(tags: Sequence[str]) -> Cell:
    """A tag set."""
    return Cell(", ".join(tags)) if tags else Cell(NO_TAGS, "dim")
