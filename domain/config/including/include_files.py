"""One file to include, and what the includes of a file depend on. Source: docs/reference/ci-yaml.md, "Includes"."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from domain.config.including.include_items import IncludeItem, IncludeKind
from domain.config.reading.tree import Map, Place
from domain.config.sources import HERE, Origin, Request

MAX_INCLUDES: Final = 150
"""Files that may be included, repeated ones too (docs/reference/ci-yaml.md, "Limits")."""
TOO_MANY: Final = f"Maximum of {MAX_INCLUDES} nested includes are allowed!"
"""What is said about more."""

_MAX_CHAIN: Final = 5


@dataclass(frozen=True, slots=True)
class IncludeContext:
    """What the includes of a file depend on: where it comes from.

    `artifacts` says whether `include:artifact` is permitted, `component` holds the facts of the component it belongs
    to, `by` the places of the includes that led to it, the innermost first.
    """

    origin: Origin = HERE
    artifacts: bool = False
    component: Mapping[str, str] = field(default_factory=dict)
    by: tuple[Place, ...] = ()

    def included_by(self, place: Place, main: str) -> str:
        """The end of a message about a file that is included at a place; `main` is the name of the main file."""
        chain = (place, *self.by)
        shown = [f"{at.file or main}:{at.line}" for at in chain[:_MAX_CHAIN]]
        return f" (included by {', '.join(shown)}{', ...' if len(chain) > _MAX_CHAIN else ''})"


@dataclass(frozen=True, slots=True)
class IncludeFile:
    """One file to include.

    `name` is what places call it; `noun` starts a message about it, as ``Local file `ci/base.yml` ``; `missing` is the
    whole message when there is no such file. Values of masked variables are in none of them.
    """

    kind: IncludeKind
    request: Request
    name: str
    noun: str
    missing: str
    item: IncludeItem

    @property
    def inputs(self) -> Map:
        """The values that the include hands over; none is an empty mapping."""
        return self.item.inputs if self.item.inputs is not None else Map(self.item.field.place)

    @property
    def inputs_place(self) -> Place:
        """Where they stand, or where they are missing."""
        return self.item.inputs_place if self.item.inputs is not None else self.item.field.place
