"""What the tests ask of a runner, whoever wrote it."""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Site:
    """A server for a runner: `url` is the address that it is to use, `direct` one where nobody writes down its calls.

    `pending` returns as soon as a job waits for a runner.
    `tag` is that of the jobs that it is to take; those without tags if it is empty.
    """

    url: str
    direct: str
    registration_token: str
    pending: Callable[[], Awaitable[None]]
    tag: str = "foreign"


@dataclass(frozen=True)
class Abilities:
    """What differs between runners, as the pipeline shows it.

    `exit_codes`: it reports them, so that a job which asks for them is not refused. `masks`: it hides masked values
    itself. `stops`: it ends the script of a canceled job. `after_cancel`: such a job still runs its `after_script`.
    `system_id` is how that of its process begins.
    """

    exit_codes: bool
    masks: bool
    stops: bool
    after_cancel: bool
    system_id: str


class ForeignRunner(ABC):
    """A runner that serves one server. `extra` are further lines of the job `asking for more`."""

    name: str
    abilities: Abilities
    extra: str

    @abstractmethod
    def serving(self, site: Site, folder: Path) -> AbstractAsyncContextManager[None]:
        """Take the jobs with the tag of the site; `folder` is empty."""
