"""With which rights jobs run, where these are not simply those of the runner."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol


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

    def process_options(self) -> Mapping[str, Any]:
        """How `subprocess` starts them."""

    def command(self, arguments: Sequence[str]) -> Sequence[str]:
        """The command to start for one of theirs."""

    def take(self) -> None:
        """Have these rights, and no others, from here on: for a process with one thread."""
