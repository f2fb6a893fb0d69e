"""Finds files by the patterns of `artifacts:paths` and `artifacts:exclude`, never outside the project's folder."""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath
from typing import Final

from domain.config.rules.patterns import encoded, pattern_of
from domain.errors import Invalid
from fleet.glob_patterns import alternatives, below, exactly, fixed_folders

GIT: Final = ".git"


def find_files(root: Path, pattern: str) -> list[str]:
    """Files, symbolic links and folders that match, relative to `root`, in order; a matching folder means all below.

    Names of folders end with a slash. Folders are never entered through a symbolic link. The repository's own `.git` is
    left out unless the pattern names it. Raises `Invalid` for what is no pattern, in words that go behind it.
    """
    relative = _relative(root, pattern)
    if relative is None:
        return []
    if not relative:
        return sorted(_walk(root, "", with_git=False))
    found: set[str] = set()
    walked: dict[str, list[str]] = {}
    for parts in alternatives(relative):
        try:
            expression = below(parts)
        except Invalid:
            continue
        fixed = fixed_folders(parts)
        base = "/".join(fixed).removesuffix("/")
        if base not in walked:
            walked[base] = list(_walk(root, base, with_git=fixed[:1] == (GIT,))) if _inside(root, base) else []
        found.update(_matching(walked[base], expression))
    return sorted(found)


def excluded(names: Iterable[str], root: Path, patterns: Iterable[str]) -> set[str]:
    """Those of `names` that one of the exclude patterns matches; here a folder's name means the folder itself only."""
    kept = {name.removesuffix("/"): name for name in names}
    relative = [pattern for pattern in (_relative(root, given) for given in patterns) if pattern]
    found: set[str] = set()
    for pattern in relative:
        try:
            expressions = [exactly(parts) for parts in alternatives(pattern, last_empty=True)]
        except Invalid:
            continue
        for expression in expressions:
            found.update(kept[name] for name in _matching(kept, expression))
    return found


def _matching(names: Iterable[str], expression: str) -> Iterator[str]:
    """In time linear in the names, whatever the pattern. One that cannot be read is no file's."""
    try:
        compiled = pattern_of(expression).compiled
    except Invalid:
        return
    yield from (name for name in names if compiled.fullmatch(encoded(name)))


def _relative(root: Path, pattern: str) -> str | None:
    """The pattern relative to `root` without `.` parts and a slash at its end; None when it leads out of it."""
    if pattern.startswith("/"):
        prefix = f"{root}/"
        if not f"{pattern}/".startswith(prefix):
            return None
        pattern = pattern[len(prefix) :]
    parts = PurePosixPath(pattern).parts
    return None if ".." in parts else "/".join(parts)


def _inside(root: Path, base: str) -> bool:
    """Whether the folder that holds `base` is really below `root`, links followed."""
    real_root = os.path.realpath(root)
    real = os.path.realpath((root / base).parent if base else root)
    return real == real_root or real.startswith(real_root + "/")


def _walk(root: Path, base: str, *, with_git: bool) -> Iterator[str]:
    start = root / base
    if start.is_symlink() or start.is_file():
        yield base
        return
    if base and start.is_dir():
        yield f"{base}/"
    for folder, folders, files in os.walk(start):
        relative = os.path.relpath(folder, root)
        prefix = "" if relative == "." else relative + "/"
        if not prefix and not with_git:
            folders[:] = [name for name in folders if name != GIT]
        yield from (prefix + name for name in files)
        yield from (prefix + name + ("" if (Path(folder) / name).is_symlink() else "/") for name in folders)
