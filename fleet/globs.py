"""Finds files by the patterns of `artifacts:paths` and `artifacts:exclude`, never outside the project's folder."""

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath
from typing import Final

from domain.config.rules.patterns import encoded, pattern_of
from domain.errors import Invalid

MAGIC: Final = re.compile(r"[*?\[{]")
GIT: Final = ".git"


def find_files(root: Path, pattern: str) -> list[str]:
    """Files and symbolic links matching `pattern`, relative to `root`, in order; a matching folder means all below.

    `*` and `?` stay inside one name, `**` crosses folders, `{a,b}` and `[a-z]` work as usual. Folders are never
    entered through a symbolic link. The repository's own `.git` is left out unless the pattern names it.
    """
    relative = _relative(root, pattern)
    if relative is None:
        return []
    parts = PurePosixPath(relative).parts
    fixed = next((i for i, part in enumerate(parts) if MAGIC.search(part)), len(parts))
    base = "/".join(parts[:fixed])
    if not _inside(root, base):
        return []
    with_git = bool(parts) and parts[0] == GIT
    found = sorted(_walk(root, base, with_git))
    if fixed == len(parts):
        return found
    # The path itself and everything below it.
    return list(_matching(found, _translated(relative) + r"(?s:/.*)?"))


def excluded(names: Iterable[str], root: Path, patterns: Iterable[str]) -> set[str]:
    """Those of `names` that one of the exclude patterns matches; here a folder's name means the folder itself only."""
    relative = [pattern for pattern in (_relative(root, given) for given in patterns) if pattern is not None]
    kept = list(names)
    return {name for pattern in relative for name in _matching(kept, _translated(pattern))}


def _matching(names: Iterable[str], expression: str) -> Iterator[str]:
    """In time linear in the names, whatever the pattern. One that cannot be read is no file's."""
    try:
        compiled = pattern_of(expression).compiled
    except Invalid:
        return
    yield from (name for name in names if compiled.fullmatch(encoded(name)))


def _relative(root: Path, pattern: str) -> str | None:
    """The pattern relative to `root` without `.` parts; None when it leads out of it."""
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


def _walk(root: Path, base: str, with_git: bool) -> Iterator[str]:
    start = root / base
    if start.is_symlink() or start.is_file():
        yield base
        return
    for folder, folders, files in os.walk(start):
        relative = os.path.relpath(folder, root)
        prefix = "" if relative == "." else relative + "/"
        if not prefix and not with_git:
            folders[:] = [name for name in folders if name != GIT]
        yield from (prefix + name for name in files)
        yield from (prefix + name for name in folders if (Path(folder) / name).is_symlink())


def _translated(pattern: str) -> str:
    """The pattern as a regular expression."""
    parts = PurePosixPath(pattern).parts
    out = ""
    for number, part in enumerate(parts):
        last = number == len(parts) - 1
        if part == "**":
            out += ".*" if last else "(?:[^/]+/)*"
        else:
            out += _name(part) + ("" if last else "/")
    return f"(?s:{out})"


def _name(part: str) -> str:
    """One name of a pattern; braces are alternatives, an unclosed bracket or brace stands for itself."""
    out: list[str] = []
    position, depth = 0, 0
    last_brace, last_bracket = part.rfind("}"), part.rfind("]")
    while position < len(part):
        char = part[position]
        position += 1
        if char == "[" and position < last_bracket:
            end = part.find("]", position + 1)
            inside = part[position:end].replace("\\", "\\\\").replace("[", "\\[")
            out.append("[" + ("^" + inside[1:] if inside[0] in "!^" else inside) + "]")
            position = end + 1
        elif char == "{" and position <= last_brace:
            out.append("(?:")
            depth += 1
        elif char == "}" and depth:
            out.append(")")
            depth -= 1
        elif char == "," and depth:
            out.append("|")
        else:
            out.append({"*": "[^/]*", "?": "[^/]"}.get(char) or re.escape(char))
    return "".join(out) + ")" * depth
