"""What pods tell each other of artifacts that a job of one needs from a project of another (docs/pods.md)."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

GOOD_FOR: Final = timedelta(hours=12)
"""So long a pending job may wait for a runner before the other pod is asked again."""
MAX_SECONDS: Final = 31 * 24 * 3_600
"""For so long a token opens an archive at most."""


@dataclass(frozen=True, slots=True)
class NeedRequest:
    """A need of a job of the project `full_path`: the archive of `job`, of the latest good pipeline of a ref.

    `username` is whose rights count, `home_id` their account where they are at home; the archive may be fetched for
    `seconds`.
    """

    username: str
    home_id: int
    full_path: str
    path: str
    ref: str
    job: str
    seconds: int


@dataclass(frozen=True, slots=True)
class Needed:
    """The job that was found, with its archive, if it has one, and the variables that it reported; or a `fault`.

    `token` opens that archive and nothing else, at the pod that has it.
    """

    fault: str = ""
    id: int = 0
    name: str = ""
    filename: str = ""
    size: int = 0
    dotenv: tuple[Mapping[str, str], ...] = ()
    token: str = ""
