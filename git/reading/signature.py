"""Who wrote something, and when: the line that commits and annotated tags carry."""

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Final

_NOT_IN_IDENTITY: Final = re.compile(r"[<>\x00-\x1f\x7f]")
_EDGES: Final = " .,:;\"'\\"
"""git leaves these out at the edges of a name."""


@dataclass(frozen=True, slots=True)
class Signature:
    """A person at a moment, whose zone is kept; a name that is empty becomes `unknown`."""

    name: str
    email: str
    moment: datetime

    @property
    def line(self) -> str:
        """`Name <email> seconds zone`, without the characters that git forbids in it."""
        name = _NOT_IN_IDENTITY.sub("", self.name).strip(_EDGES) or "unknown"
        email = _NOT_IN_IDENTITY.sub("", self.email).strip()
        return f"{name} <{email}> {int(self.moment.timestamp())} {self.moment.strftime('%z') or '+0000'}"
