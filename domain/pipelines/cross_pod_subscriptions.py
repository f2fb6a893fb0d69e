"""What pods tell each other of projects of one that follow the releases of another's (docs/pods.md)."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Final

RENEWED_EVERY: Final = timedelta(hours=1)
"""So often the pod of a subscription says again that it is there: the other one may be one from a backup."""
SETTLED_AFTER: Final = timedelta(minutes=10)
"""So long a follower is not forgotten, whatever its pod says: it tells of a subscription before it writes it."""


@dataclass(frozen=True, slots=True)
class FollowRequest:
    """The project `full_path` of the calling pod is to follow `upstream`, by its id or full path.

    `username` is whose rights count, `home_id` their account where they are at home.
    """

    username: str
    home_id: int
    full_path: str
    upstream: int | str


@dataclass(frozen=True, slots=True)
class FollowResponse:
    """The project that is followed from now on; nothing where there is none that the person may see."""

    id: int = 0
    full_path: str = ""


@dataclass(frozen=True, slots=True)
class Release:
    """A pipeline of a tag that has succeeded, with the project whose it is."""

    pipeline_id: int
    project_id: int
    full_path: str
