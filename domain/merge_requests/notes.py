"""Notes on merge requests: their kinds, and what the server notes by itself when something happens to one.

Source of the rules: GitLab's documentation of the notes and discussions APIs ("Merge requests"), and its
`SystemNoteService` for the words.
"""

import html
from collections.abc import Collection, Sequence
from enum import StrEnum
from itertools import takewhile
from typing import Any, Final

from domain.merge_requests.merge_request import is_draft, with_draft
from domain.merge_requests.news import News

MAX_BODY: Final = 1_000_000
"""Characters of a note, as in GitLab."""
MAX_NOTES: Final = 5_000
"""Notes that people write on one merge request, as in GitLab (`MAX_NOTES_LIMIT`); the server's are not counted."""
MAX_COMMITS: Final = 100
"""Commits of one push that its note lists."""
_SHORT: Final = 8


class Kind(StrEnum):
    """GitLab's `type` of a note: one by itself has none, those of threads do."""

    INDIVIDUAL = ""
    THREAD = "DiscussionNote"
    DIFF = "DiffNote"


_OF_NEWS: Final = {
    News.CLOSE: "closed",
    News.REOPEN: "reopened",
    News.MERGE: "merged",
    News.APPROVED: "approved this merge request",
    News.APPROVAL: "approved this merge request",
    News.UNAPPROVED: "unapproved this merge request",
    News.UNAPPROVAL: "unapproved this merge request",
}
CANCELED: Final = "canceled the automatic merge"


def of_news(news: News, before: Any, after: Any) -> list[str]:
    """What is noted of news of a merge request: columns `title`, `description` and `target_branch` are compared."""
    if news is News.OPEN:
        return [_draft(after.title)] if is_draft(after.title) else []
    if news in _OF_NEWS:
        return [_OF_NEWS[news]]
    found: list[str] = []
    if is_draft(before.title) != is_draft(after.title):
        found.append(_draft(after.title))
    old, new = with_draft(before.title, draft=False), with_draft(after.title, draft=False)
    if old != new:
        found.append("changed title from **{}** to **{}**".format(*_marked(old, new)))
    if before.description != after.description:
        found.append("changed the description")
    if before.target_branch != after.target_branch:
        found.append(f"changed target branch from `{before.target_branch}` to `{after.target_branch}`")
    return found


def _draft(title: str) -> str:
    return f"marked this merge request as **{'draft' if is_draft(title) else 'ready'}**"


def _marked(old: str, new: str) -> tuple[str, str]:
    """Both titles, with `{-` and `-}` around what went and `{+` and `+}` around what came."""
    head = _shared(old, new)
    tail = _shared(old[head:][::-1], new[head:][::-1])

    def shown(text: str, sign: str) -> str:
        middle = text[head : len(text) - tail]
        return text[:head] + (f"{{{sign}{middle}{sign}}}" if middle else "") + text[len(text) - tail :]

    return shown(old, "-"), shown(new, "+")


def _shared(one: str, other: str) -> int:
    """How many characters both texts begin with."""
    pairs = zip(one, other, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def of_assignees(old: Collection[str], new: Collection[str]) -> str:
    """What is noted when work is given to others, by user names; nothing when they stay."""
    return _people("assigned to", "unassigned", old, new)


def of_reviewers(old: Collection[str], new: Collection[str]) -> str:
    """The same for those who are to review."""
    return _people("requested review from", "removed review request for", old, new)


def _people(came: str, went: str, old: Collection[str], new: Collection[str]) -> str:
    groups = ((came, [name for name in new if name not in old]), (went, [name for name in old if name not in new]))
    return " and ".join(f"{words} {mentioned(names)}" for words, names in groups if names)


def mentioned(names: Sequence[str]) -> str:
    """`@one, @two, and @three`."""
    marked = [f"@{name}" for name in names]
    if len(marked) < 3:
        return " and ".join(marked)
    return f"{', '.join(marked[:-1])}, and {marked[-1]}"


def of_commits(commits: Sequence[tuple[str, str]]) -> str:
    """What is noted of new commits: sha and title of each, the oldest first; of more than `MAX_COMMITS` only those."""
    shown = commits[:MAX_COMMITS]
    number = f"more than {MAX_COMMITS} commits" if len(commits) > len(shown) else _counted(len(shown))
    lines = "".join(f"<li>{sha[:_SHORT]} - {html.escape(title)}</li>" for sha, title in shown)
    return f"added {number}\n\n<ul>{lines}</ul>"


def _counted(number: int) -> str:
    return "1 commit" if number == 1 else f"{number} commits"


def of_auto_merge(sha: str) -> str:
    """What is noted when somebody wants a merge request merged by itself."""
    return f"enabled an automatic merge when all merge checks for {sha} pass"


def of_auto_merge_given_up(why: str) -> str:
    """What is noted when that is given up."""
    return f"aborted the automatic merge because {why}"
