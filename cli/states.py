"""How the states of jobs and pipelines look in a terminal: glyph, word and colour, never colour alone."""

from collections.abc import Mapping
from typing import Final

GLYPHS: Final[Mapping[str, tuple[str, str]]] = {
    "created": ("·", "dim"),
    "waiting_for_resource": ("◌", "yellow"),
    "preparing": ("◌", "yellow"),
    "pending": ("◌", "yellow"),
    "running": ("▶", "cyan"),
    "canceling": ("■", "magenta"),
    "success": ("✓", "green"),
    "failed": ("✗", "red"),
    "canceled": ("■", "magenta"),
    "skipped": ("»", "dim"),
    "manual": ("⚙", "blue"),
    "scheduled": ("◷", "blue"),
}
"""State -> glyph and style."""
UNKNOWN: Final = ("?", "")
"""Glyph and style of a state that a newer server may have."""
