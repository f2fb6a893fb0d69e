"""Checks of names that come from outside before they reach git's command line."""

import re
from typing import Final

from domain.errors import Invalid
from domain.projects.ref_names import shadows

NAME_LIMIT: Final = 1024
"""Characters of a ref name or path."""
_SHA: Final = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?")
_FORBIDDEN_IN_REF: Final = re.compile(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//|/\.|\.lock(/|$)")
_FORBIDDEN_IN_PATH: Final = re.compile(r"[\x00-\x1f\x7f]")


def is_sha(text: str) -> bool:
    """Whether the text is a full object name: 40 (SHA-1) or 64 (SHA-256) lower-case hex digits."""
    return _SHA.fullmatch(text) is not None


def checked_sha(sha: str) -> str:
    """The same text; raises Invalid when it is not a full object name."""
    if not is_sha(sha):
        raise Invalid(f"{sha[:80]!r} is not a commit: expected 40 or 64 hex digits.")
    return sha


def checked_ref(ref: str) -> str:
    """The same text; raises Invalid for what git's rules of ref names forbid (git-check-ref-format)."""
    wrong_edge = ref.startswith(("-", "/", ".")) or ref.endswith(("/", "."))
    if not ref or ref == "@" or wrong_edge or len(ref) > NAME_LIMIT or _FORBIDDEN_IN_REF.search(ref):
        raise Invalid(f"{ref[:80]!r} is not the name of a branch, tag or commit.")
    return ref


def checked_branch(name: str) -> str:
    """The same text; raises Invalid for what no branch and no tag may be called, by git's rules or by ours."""
    if why := shadows(checked_ref(name)):
        raise Invalid(f"{name[:80]!r} {why}: no branch and no tag may have it.")
    return name


def checked_path(path: str) -> str:
    """The same text; raises Invalid unless it is a path inside the repository, relative, with `/`."""
    parts = path.split("/")
    if len(path) > NAME_LIMIT or _FORBIDDEN_IN_PATH.search(path) or any(part in {"", ".", ".."} for part in parts):
        raise Invalid(f"{path[:80]!r} is not a path in a repository: give it from the root, without '..' and '//'.")
    return path
