"""The runner that comes nearest to taking a job, and what it lacks."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from domain.runners.matching import Candidate, Demand, is_trusted, may_share_user, reaches, takes_untagged
from domain.runners.named_runner import NamedRunner

_SHORTEST: Final = 3
"""Characters of a tag that may be the beginning of another one."""
_LACKS: Final[tuple[tuple[Callable[[Demand, Candidate], bool], str], ...]] = (
    (takes_untagged, "takes no jobs without tags"),
    (is_trusted, "takes only jobs of protected refs"),
    (may_share_user, "runs jobs as the server's user, which this project may not"),
    (lambda _, runner: not runner.paused, "is paused"),
    (lambda _, runner: runner.online, "is offline"),
)
"""What may stand between a job and a runner of its project, tags excepted, in words that follow on the runner."""


@dataclass(frozen=True, slots=True)
class Nearest:
    """A runner, the tags of the job that it does not have, and what else is in the way.

    `similar` is a tag that it has and that looks like the first missing one; empty if none does. `is_silent`: no call
    of it came for too long.
    """

    runner: NamedRunner
    missing: tuple[str, ...]
    lacks: tuple[str, ...]
    similar: str = ""
    is_silent: bool = False

    @property
    def words(self) -> str:
        """What it lacks, in words that follow on the runner."""
        tags = f"lacks {', '.join(self.missing)}" if self.missing else ""
        has = f" (it has {self.similar})" if self.similar else ""
        return " and ".join(filter(None, (tags + has if tags else "", *self.lacks)))


def nearest(demand: Demand, runners: Iterable[NamedRunner]) -> Nearest | None:
    """Of the runners that work for the job's project the one that lacks least; None if there are none.

    No runner lacks anything that keeps it from a job of an archived project: there is none to name.

    Runners of other projects are never named. What keeps a runner from ever taking the job weighs more than that it is
    paused or offline, so that the one named lacks what `domain.pipelines.stuck` says is lacking. Of those alike the one
    that was registered first is meant.
    """
    found = (
        _compared(demand, runner) for runner in runners if not demand.archived and reaches(demand, runner.candidate)
    )
    return min(found, key=_distance, default=None)


def _compared(demand: Demand, runner: NamedRunner) -> Nearest:
    missing = tuple(sorted(demand.tags - runner.candidate.tags))
    lacks = tuple(words for holds, words in _LACKS if not holds(demand, runner.candidate))
    similar = _similar(missing[0], runner.candidate.tags - demand.tags) if missing else ""
    return Nearest(runner, missing, lacks, similar, not runner.candidate.online)


def _distance(found: Nearest) -> tuple[int, int, bool, int, int]:
    return (-_passed(found), len(found.missing), not found.similar, len(found.lacks), found.runner.id)


def _passed(found: Nearest) -> int:
    """How many sieves it falls through, in the order of `domain.pipelines.stuck`: its tags, then the table above."""
    if found.missing:
        return 0
    return next((number for number, (_, words) in enumerate(_LACKS, 1) if words in found.lacks), len(_LACKS) + 1)


def _similar(wanted: str, tags: Iterable[str]) -> str:
    """The first tag that somebody may have meant; empty if there is none."""
    return next((tag for tag in sorted(tags) if _may_mean(_plain(wanted), _plain(tag))), "")


def _plain(tag: str) -> str:
    """A tag without what is easily mixed up."""
    return tag.casefold().replace("_", "-").replace(" ", "-")


def _may_mean(wanted: str, tag: str) -> bool:
    """Whether one is the beginning of the other, or they differ in one place: `linx` for `linux`, `mac` for `macos`."""
    short, long = sorted((wanted, tag), key=len)
    if len(short) >= _SHORTEST and long.startswith(short):
        return True
    if len(long) - len(short) > 1 or len(long) < _SHORTEST:
        return False
    begin = next((place for place, one in enumerate(short) if one != long[place]), len(short))
    return short[begin + (len(short) == len(long)) :] == long[begin + 1 :]
