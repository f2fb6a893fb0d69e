"""Branches and tags: which are pushed, and which have gone ways of their own. None is ever moved by force."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final

from domain.project_import.plan import NotCarried
from domain.projects.ref_names import HEADS, TAGS, counterpart, gives_way, is_like_a_commit, shadows, short_name

BRANCH: Final = "branch"
TAG: Final = "tag"
_DIVERGED: Final = "It has commits here that the source does not have, and the other way round."
_MERGE: Final = "Merge the two by hand, or remove the branch here, and import again."
_MOVED: Final = "It names another commit here."
_REMOVE: Final = "Remove the one that is wrong, and import again."
_LIKE_A_SHA: Final = "It is named like a commit, which is refused here."
_TAKEN: Final = "There is a {} of that name, and whoever names one could get the other, which is refused here."
_RENAME: Final = "Give it another name at the source."


@dataclass(frozen=True, slots=True)
class Refs:
    """What is to be done with branches and tags, by full names."""

    push: tuple[str, ...]
    unchanged: tuple[str, ...]
    not_carried: tuple[NotCarried, ...]


def differing(source: Mapping[str, str], present: Mapping[str, str]) -> list[str]:
    """The branches of both sides that are at different commits; `plan` has to be told how these go together."""
    return [name for name in source if name.startswith(HEADS) and present.get(name, source[name]) != source[name]]


def plan(
    source: Mapping[str, str],
    present: Mapping[str, str],
    behind: Collection[str] = (),
    ahead: Collection[str] = (),
    first: str = "",
) -> Refs:
    """What is to be pushed, and what stays as it is.

    `source` and `present` are objects by full name; of differing branches those here are `behind`, or `ahead` of, the
    source's, or neither. The branch `first` comes first: it is the one that a clone looks for.
    """
    push: list[str] = []
    same: list[str] = []
    left: list[NotCarried] = []
    for name in sorted(source, key=lambda name: (name != f"{HEADS}{first}", name)):
        have = present.get(name)
        if have == source[name] or name in ahead:
            same.append(name)
        elif is_like_a_commit(short(name)):
            left.append(not_carried(name, _LIKE_A_SHA, _RENAME, failed=False))
        elif have is None and gives_way(name, present, source, first):
            left.append(not_carried(name, _TAKEN.format(kind_of(counterpart(name))), _RENAME, failed=False))
        elif why := shadows(short(name)):
            left.append(not_carried(name, f"Its name {why}, which is refused here.", _RENAME, failed=False))
        elif have is None or name in behind:
            push.append(name)
        elif name.startswith(TAGS):
            left.append(not_carried(name, _MOVED, _REMOVE))
        else:
            left.append(not_carried(name, _DIVERGED, _MERGE))
    return Refs(tuple(push), tuple(same), tuple(left))


def short(name: str) -> str:
    """A name without its `refs/heads/` or `refs/tags/`."""
    return short_name(name)


def kind_of(name: str) -> str:
    """Whether a full name is of a branch or a tag."""
    return TAG if name.startswith(TAGS) else BRANCH


def not_carried(name: str, reason: str, advice: str, *, failed: bool = True) -> NotCarried:
    """A branch or tag that is not here, by its full name."""
    return NotCarried(kind_of(name), short(name), reason, advice, failed=failed)
