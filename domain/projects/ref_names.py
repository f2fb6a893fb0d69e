"""Names of refs: short and full, and which ones no branch and no tag may have, since they would shadow others.

A short name means one branch or one tag, `refs/heads/main` means itself and `HEAD` the default branch. A branch
`refs/heads/main`, whose full name is `refs/heads/refs/heads/main`, could be taken for it; so could a branch `v1` for
the tag of that name.

Source of the rules: git's gitrevisions(7), "<refname>", and gitglossary(7), "root ref"; GitLab's documentation,
"Branches", section "Name your branch".
"""

import re
from collections.abc import Container
from typing import Final

HEADS: Final = "refs/heads/"
TAGS: Final = "refs/tags/"

_SHA: Final = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_ROOT_REF: Final = re.compile(r"[A-Z_-]*_HEAD")
_ROOT_REFS: Final = frozenset(
    {
        "HEAD",
        "AUTO_MERGE",
        "BISECT_EXPECTED_REV",
        "MERGE_AUTOSTASH",
        "NOTES_MERGE_PARTIAL",
        "NOTES_MERGE_REF",
    }
)


def short_name(ref: str) -> str:
    """The name of a branch or tag by the full name of its ref; any other ref keeps its full name."""
    return ref.removeprefix(HEADS) if ref.startswith(HEADS) else ref.removeprefix(TAGS)


def full_ref(name: str, *, tag: bool) -> str:
    """The full name of a branch or tag by its short one; a full name stays."""
    if name.startswith("refs/"):
        return name
    return f"{TAGS if tag else HEADS}{name}"


def counterpart(ref: str) -> str:
    """The full name of the tag that is called as a branch is, and the reverse; empty for any other ref."""
    if ref.startswith(HEADS):
        return f"{TAGS}{ref.removeprefix(HEADS)}"
    return f"{HEADS}{ref.removeprefix(TAGS)}" if ref.startswith(TAGS) else ""


def gives_way(ref: str, present: Container[str], coming: Container[str], default_branch: str) -> bool:
    """Whether a branch or tag that is not there yet stays out, for the tag or branch of its name.

    That one is `present`, or it is `coming`, too.
    Names are full ones, but for the default branch. Of two that come the tag stays, since whoever pins a name means a
    release, but for the default branch.
    """
    other = counterpart(ref)
    loses = TAGS if short_name(ref) == default_branch else HEADS
    return other in present or (other in coming and ref.startswith(loses))


def is_full(name: str) -> bool:
    """Whether a name stands for one ref and no other: a full name, or one that git keeps beside its refs."""
    return name.startswith("refs/") or is_root_ref(name)


def is_root_ref(name: str) -> bool:
    """Whether git keeps something of its own under this name, such as `HEAD` or `FETCH_HEAD`."""
    return name in _ROOT_REFS or _ROOT_REF.fullmatch(name) is not None


def shadows(name: str) -> str:
    """What a branch or tag of this short name could be taken for, in words; empty if it is one that may exist.

    `refs/` counts in any case: some file systems know no difference.
    """
    if name.casefold().startswith("refs/"):
        return "begins with refs/, as only full names of refs do"
    if is_root_ref(name):
        return "is a name that git uses itself"
    return ""


def is_like_a_commit(name: str) -> bool:
    """Whether a branch or tag of this short name would hide a commit, or be hidden by it."""
    return _SHA.fullmatch(name) is not None
