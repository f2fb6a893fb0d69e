"""Files of a commit that hold a text, and commits whose messages do; found by git itself, the text taken literally.

Searches read everything there is: they have few places of their own, so that they take none of other commands.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from domain.errors import Invalid, TooLarge
from git.command import run
from git.names import checked_sha
from git.output import PATHS_LIMIT
from git.reading.commit import Commit
from git.reading.history import HistoryQuery, commits
from git.repository import Repository
from git.turns import Places, turn

SEARCHES: Final = Places(at_once=3, of_caller=1, of_repository=1, what="searches", waiting=5)
SECONDS: Final = 15.0
"""That one search may take."""
_CONTEXT: Final = 2
"""Lines before and after, as GitLab shows them."""
_SHOWN: Final = 1024 * 1024
"""Bytes of the lines of one page of files."""
_LINE: Final = re.compile(r"[0-9a-f]{40,64}:(?P<path>[^\0]+)\0(?P<number>\d+)\0(?P<text>.*)")
_NO_MATCH: Final = 1
"""The exit code of `git grep` that has found nothing."""


@dataclass(frozen=True, slots=True)
class FoundFile:
    """The first place of a text in a file: `data` are the lines around it, the first of which is number `line`."""

    path: str
    line: int
    data: str


def checked_text(text: str) -> str:
    """The text if git can look for it. Raises `Invalid` for several lines: those would be several texts."""
    if not text.strip() or "\n" in text or "\0" in text:
        raise Invalid("search is invalid: give one line of text.")
    return text


async def files_with(repository: Repository, sha: str, text: str) -> list[str]:
    """The paths of all text files of a commit that hold a text, in any case. Raises `Unavailable`, `TooLarge`."""
    words = ["--files-with-matches", *_words(text), checked_sha(sha), "--"]
    out = await _grep(repository, words, PATHS_LIMIT)
    return [name.partition(":")[2] for name in out.split("\0") if name]


async def first_places(repository: Repository, sha: str, text: str, paths: Sequence[str]) -> list[FoundFile]:
    """Where these files hold the text first, in their order; without lines where those are too long to be shown.

    Raises `Unavailable`.
    """
    if not paths:
        return []
    words = ["--line-number", "--max-count=1", f"--context={_CONTEXT}", *_words(text), checked_sha(sha), "--", *paths]
    found: dict[str, list[tuple[int, str]]] = {}
    try:
        out = await _grep(repository, words, _SHOWN)
    except TooLarge:
        return [FoundFile(path, 1, "") for path in paths]
    for line in out.split("\n"):
        if match := _LINE.fullmatch(line):
            found.setdefault(match["path"], []).append((int(match["number"]), match["text"]))
    rows = ((path, found[path]) for path in paths if path in found)
    return [FoundFile(path, lines[0][0], "".join(f"{line}\n" for _, line in lines)) for path, lines in rows]


def _words(text: str) -> list[str]:
    return ["--null", "-I", "--fixed-strings", "--ignore-case", "--no-color", "-e", checked_text(text)]


async def _grep(repository: Repository, words: Sequence[str], limit: int) -> str:
    git = ["--literal-pathspecs", "-c", "grep.threads=1", f"--git-dir={repository.path}", "grep"]
    async with turn(SEARCHES, str(repository.path)):
        answer = await run([*git, *words], limit=limit, accept=(0, _NO_MATCH), seconds=SECONDS)
    return answer.out.decode("utf-8", "replace")


async def commits_with(repository: Repository, sha: str, text: str, *, skip: int, limit: int) -> list[Commit]:
    """Commits up to this one whose message holds a text, in any case, the newest first. Raises `Unavailable`."""
    query = HistoryQuery([sha], message=checked_text(text), skip=skip, limit=limit)
    async with turn(SEARCHES, str(repository.path)):
        return await commits(repository, query, seconds=SECONDS)
