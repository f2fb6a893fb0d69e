"""Why no runner can take a job that waits: said as soon as it waits, in words for people.

The rules are those of the hand-out (reference: runner protocol, section 11): a runner has all tags of the job, one
without `run_untagged` takes only jobs with tags, one of a project only that project's, a protected one only jobs of
protected refs. Beyond them a runner must be there: not paused, and in touch.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Demand:
    """What jobs that wait have in common. `protected` is true for those of a protected ref."""

    project_id: int
    tags: frozenset[str] = frozenset()
    protected: bool = False


@dataclass(frozen=True, slots=True)
class Candidate:
    """A registered runner. `project_id` is None for one of all projects; `online` is false for a silent one."""

    project_id: int | None = None
    tags: frozenset[str] = frozenset()
    run_untagged: bool = True
    ref_protected: bool = False
    paused: bool = False
    online: bool = True


def why_stuck(demand: Demand, runners: Iterable[Candidate]) -> str:
    """Why none of the registered runners can take such a job; empty if one can, even if it is busy now.

    The runners are sifted in the order of the table; the first sieve through which none falls is the reason.
    """
    left = tuple(runners)
    if not left:
        return "No runner is registered. Register one, and the job starts."
    for fits, text in _SIEVES:
        through = tuple(runner for runner in left if fits(demand, runner))
        if not through:
            return text.format(tags=_tags_missing(demand, left), they=_counted(left))
        left = through
    return ""


_SIEVES: Final[tuple[tuple[Callable[[Demand, Candidate], bool], str], ...]] = (
    (
        lambda demand, runner: runner.project_id in {None, demand.project_id},
        "All runners belong to other projects.",
    ),
    (
        lambda demand, runner: runner.tags >= demand.tags,
        "No runner of this project has {tags}.",
    ),
    (
        lambda demand, runner: bool(demand.tags) or runner.run_untagged,
        "The job has no tags, and no runner of this project takes such jobs.",
    ),
    (
        lambda demand, runner: demand.protected or not runner.ref_protected,
        "The runners that fit take only jobs of protected refs, and this ref is not protected.",
    ),
    (lambda _, runner: not runner.paused, "{they} paused."),
    (lambda _, runner: runner.online, "{they} offline: no call came for too long."),
)
"""What a runner must be, in this order, and what is said when none of those left is. A tag may hold any character, and
is put in only once: what stands in it is never read as a place of the text."""


def _tags_missing(demand: Demand, left: tuple[Candidate, ...]) -> str:
    """The tags that no runner has, or all of them if each is there but never all on one runner."""
    nobodys = sorted(demand.tags.difference(*(runner.tags for runner in left)))
    tags = nobodys or sorted(demand.tags)
    named = f"tag{'s' if len(tags) > 1 else ''} {', '.join(tags)}"
    return f"the {named}" if nobodys else f"all of the {named}"


def _counted(left: tuple[Candidate, ...]) -> str:
    return "The only runner that fits is" if len(left) == 1 else f"All {len(left)} runners that fit are"
