"""Why no runner can take a job that waits: said as soon as it waits, in words for people.

The rules are those of the hand-out (`domain.runners.matching`). Beyond them a runner must be there: not paused, and in
touch.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from domain.runners.matching import (
    Candidate,
    Demand,
    has_tags,
    is_live,
    is_trusted,
    may_share_user,
    reaches,
    takes_untagged,
)


class Lack(StrEnum):
    """What no runner has, of which each that is there would need all."""

    RUNNERS = "runners"
    UNARCHIVED = "unarchived"
    REACH = "reach"
    TAGS = "tags"
    UNTAGGED = "untagged"
    TRUST = "trust"
    PERMISSION = "permission"
    RESUMED = "resumed"
    ONLINE = "online"


@dataclass(frozen=True, slots=True)
class Stuck:
    """Why no runner can take a job: what is lacking, and the same in words; `tags` are those that no runner has."""

    lack: Lack
    text: str
    tags: tuple[str, ...] = ()


def stuck(demand: Demand, runners: Iterable[Candidate]) -> Stuck | None:
    """Why none of the registered runners can take such a job; None if one can, even if it is busy now.

    The runners are sifted in the order of the table; the first sieve through which none falls is the reason.
    """
    left = tuple(runners)
    if not left:
        return Stuck(Lack.RUNNERS, "No runner is registered. Register one, and the job starts.")
    for lack, fits, text in _SIEVES:
        through = tuple(runner for runner in left if fits(demand, runner))
        if not through:
            tags = _tags_missing(demand, left) if lack is Lack.TAGS else ()
            words = text.format(tags=_tags_in_words(demand, tags), they=_counted(left), project=demand.project_path)
            return Stuck(lack, words, tags)
        left = through
    return None


def why_stuck(demand: Demand, runners: Iterable[Candidate]) -> str:
    """The same as a sentence; empty if a runner can take it."""
    found = stuck(demand, runners)
    return "" if found is None else found.text


_AS_SERVER: Final = "The built-in runner runs jobs as the server's user, and there are accounts of other people: "

_SIEVES: Final[tuple[tuple[Lack, Callable[[Demand, Candidate], bool], str], ...]] = (
    (Lack.UNARCHIVED, is_live, "The project is archived, and no runner takes jobs of one that is."),
    (Lack.REACH, reaches, "All runners belong to other projects."),
    (Lack.TAGS, has_tags, "No runner of this project has {tags}."),
    (Lack.UNTAGGED, takes_untagged, "The job has no tags, and no runner of this project takes such jobs."),
    (Lack.TRUST, is_trusted, "The runners that fit take only jobs of protected refs, and this ref is not protected."),
    (
        Lack.PERMISSION,
        may_share_user,
        _AS_SERVER + "an administrator allows this project with `perdure runner allow {project}` or on the job's page.",
    ),
    (Lack.RESUMED, lambda _, runner: not runner.paused, "{they} paused."),
    (Lack.ONLINE, lambda _, runner: runner.online, "{they} offline: no call came for too long."),
)
"""What a runner must be, in this order, and what is said when none of those left is. A tag may hold any character, and
is put in only once: what stands in it is never read as a place of the text."""


def awaits_permission(reason: str) -> bool:
    """Whether the job runs as soon as an administrator lets those of its project run as the server's user."""
    return reason.startswith(_AS_SERVER)


def _tags_missing(demand: Demand, left: tuple[Candidate, ...]) -> tuple[str, ...]:
    """The tags that no runner has; none if each is there but never all on one runner."""
    return tuple(sorted(demand.tags.difference(*(runner.tags for runner in left))))


def _tags_in_words(demand: Demand, missing: tuple[str, ...]) -> str:
    tags = missing or tuple(sorted(demand.tags))
    named = f"tag{'s' if len(tags) > 1 else ''} {', '.join(tags)}"
    return f"the {named}" if missing else f"all of the {named}"


def _counted(left: tuple[Candidate, ...]) -> str:
    return "The only runner that fits is" if len(left) == 1 else f"All {len(left)} runners that fit are"
