"""What a message says, whichever way it goes: e-mails and chats are drawn from the same."""

from dataclasses import dataclass, field

from domain.notifications.occasions import Occasion


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody a message speaks of."""

    name: str
    username: str = ""
    url: str = ""


@dataclass(frozen=True, slots=True)
class Fact:
    """A line of a table: what it is, and its value, perhaps a link."""

    name: str
    value: str
    url: str = ""


@dataclass(frozen=True, slots=True)
class FailedJob:
    """A job that failed, and why in a sentence or two. Its log is never told: nobody knows what stands in it."""

    name: str
    stage: str
    why: str
    url: str


@dataclass(frozen=True, slots=True)
class Content:
    """A message. `project` is the full path; `subject` what an e-mail is headed with after it, `mark` comes last there.

    `headline` is a sentence without a full stop, `url` the page of what it speaks of. `more_jobs` failed besides those
    that are listed.
    """

    occasion: Occasion
    project: str
    project_url: str
    subject: str
    mark: str
    headline: str
    url: str
    facts: tuple[Fact, ...] = ()
    jobs: tuple[FailedJob, ...] = ()
    more_jobs: int = 0
    reason: str = field(default="")
    """Why it is the way it is, where nothing else says so."""

    @property
    def title(self) -> str:
        """The subject of an e-mail, as GitLab's are: `project | Failed pipeline for main | abc12345`."""
        return " | ".join(part for part in (self.project, self.subject, self.mark) if part)
