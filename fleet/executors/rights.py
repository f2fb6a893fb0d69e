"""With which rights jobs run, where these are not simply those of the runner."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class Launch:
    """What `subprocess` is called with."""

    arguments: Sequence[str]
    environment: Mapping[str, str]
    options: Mapping[str, Any] = field(default_factory=dict)


class JobRights(Protocol):
    """What a job's processes may do; the same holds for the process that handles the job's files."""

    @property
    def name(self) -> str:
        """The user that jobs run as."""

    @property
    def uid(self) -> int:
        """Whose the files are that they make."""

    def environment(self) -> Mapping[str, str]:
        """What their environment has beside what is inherited."""

    def launch(self, arguments: Sequence[str], environment: Mapping[str, str]) -> AbstractContextManager[Launch]:
        """How to start a command of theirs with an environment; to be left once it is started."""

    def take(self) -> None:
        """Have these rights, and no others, from here on: for a process with one thread."""
