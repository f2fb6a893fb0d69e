"""What a field of a `--json` document is."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Field:
    """A field: its JSON type (`|null` where it may be missing), its meaning, and where the server's object has it."""

    name: str
    type: str
    meaning: str
    at: str = ""
    of: str = ""
    """For `array` and `object`: the kind of document inside."""


Kind = Sequence[Field]
