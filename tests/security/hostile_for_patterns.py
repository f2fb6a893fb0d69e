"""Texts that make a pattern of `re` slow if any can: what it repeats, over and over, behind what it begins with."""

import re
from collections.abc import Iterator
from re import _constants as kinds
from re import _parser as parser
from typing import Any, Final

_MANY: Final = 100
"""What is repeated at most so many times costs no more for a longer text."""
_REPEATS: Final = {kinds.MAX_REPEAT, kinds.MIN_REPEAT, kinds.POSSESSIVE_REPEAT}
_MEMBER: Final = {kinds.CATEGORY_DIGIT: "1", kinds.CATEGORY_SPACE: " ", kinds.CATEGORY_WORD: "a"}
_OTHERS: Final = "a1 .-/:\x01é"
"""One of these is in every set that says what is not in it."""


def hostile(pattern: "re.Pattern[Any]") -> Iterator[tuple[str, str]]:
    """Beginnings, and pieces that may follow them without end."""
    text = pattern.pattern if isinstance(pattern.pattern, str) else pattern.pattern.decode("latin-1")
    return iter(dict.fromkeys(_within(parser.parse(text, pattern.flags & ~re.UNICODE), "")))


def _within(tree: Any, before: str) -> Iterator[tuple[str, str]]:
    for kind, about in tree:
        if kind in _REPEATS:
            _, most, inside = about
            yield from _within(inside, before)
            if most > _MANY:
                yield from ((start, one) for one in (*_members(inside), _sample(inside)) for start in ("", before))
        elif kind is kinds.BRANCH:
            for way in about[1]:
                yield from _within(way, before)
        elif kind is kinds.SUBPATTERN:
            yield from _within(about[-1], before)
        before += _one(kind, about)
        if before:
            yield "", before


def _members(inside: Any) -> list[str]:
    """The first signs of a set that is repeated by itself."""
    if len(inside) != 1 or inside[0][0] is not kinds.IN or inside[0][1][0][0] is kinds.NEGATE:
        return []
    return [_one(kinds.IN, [member]) for member in inside[0][1]]


def _sample(tree: Any) -> str:
    """A text that fits."""
    return "".join(_one(kind, about) for kind, about in tree)


def _one(kind: Any, about: Any) -> str:
    if kind is kinds.LITERAL:
        return chr(about)
    if kind is kinds.NOT_LITERAL:
        return next(sign for sign in _OTHERS if ord(sign) != about)
    if kind is kinds.ANY:
        return "a"
    if kind is kinds.IN:
        return _of_set(about)
    if kind is kinds.BRANCH:
        return _sample(about[1][0])
    if kind is kinds.SUBPATTERN:
        return _sample(about[-1])
    if kind in _REPEATS:
        least: int = about[0]
        return _sample(about[2]) * max(1, least)
    return ""


def _of_set(members: Any) -> str:
    kind, about = members[0]
    if kind is kinds.NEGATE:
        return next(sign for sign in _OTHERS if not any(_holds(member, sign) for member in members[1:]))
    if kind is kinds.LITERAL:
        return chr(about)
    return chr(about[0]) if kind is kinds.RANGE else _MEMBER.get(about, "-")


def _holds(member: Any, sign: str) -> bool:
    kind, about = member
    if kind is kinds.LITERAL:
        return bool(ord(sign) == about)
    if kind is kinds.RANGE:
        return bool(about[0] <= ord(sign) <= about[1])
    return bool(_MEMBER.get(about) == sign)
