"""Patterns of files as GitLab Runner reads them: the rules of the Go library doublestar, version 4.

`*` and `?` stay inside a name, `**` as a whole name crosses folders, `[a-z]` and `[^a-z]` are classes, `{a,b/c}` are
alternatives, also across slashes and inside each other, and a backslash takes from the sign behind it what it means.
`tests/fleet/doublestar` asks the library itself, and has a table of its answers.
"""

import re
from collections.abc import Sequence
from itertools import islice, product
from typing import Final, TypeAlias

from domain.errors import Invalid

ALTERNATIVES_LIMIT: Final = 1_000
"""Patterns that one with braces may stand for."""
DEPTH_LIMIT: Final = 100
"""Braces in each other."""
Part: TypeAlias = tuple[str, ...]
"""One name of a pattern as signs: a letter, an escaped one with its backslash, or a whole class."""
_SIGN: Final = re.compile(r"\\.|\[[!^]?(?:\\.|[^\]\\])+\]|[^\\\[]", re.DOTALL)
_NO_SIGN: Final = r"[^\x00-\x{10FFFF}]"


def alternatives(pattern: str, *, last_empty: bool = False) -> list[Sequence[Part]]:
    """The patterns without braces that one stands for, each as its names.

    Only with `last_empty`, as where names are compared and no files looked for, `{a,}` is `a` or nothing; else it is
    `a`, as in the library. Raises `Invalid` for what is no pattern, or stands for too many.
    """
    # What stands before each open brace, and its ways so far.
    around: list[tuple[list[list[str]], list[list[str]]]] = []
    current: list[list[str]] = [[]]
    for sign in _signs(pattern):
        if sign == "{":
            around.append((current, []))
            current = [[]]
        elif sign == "," and around:
            around[-1][1].extend(current)
            current = [[]]
        elif sign == "}":
            before, ways = around.pop()
            if last_empty or current != [[]]:
                ways.extend(current)
            current = _behind(before, ways)
        else:
            for one in current:
                one.append(sign)
        if len(around) > DEPTH_LIMIT or max(len(current), len(around[-1][1]) if around else 0) > ALTERNATIVES_LIMIT:
            raise Invalid(f"it stands for more than {ALTERNATIVES_LIMIT} patterns; write fewer braces")
    return [_parts(signs) for signs in dict.fromkeys(map(tuple, current))]


def _behind(before: list[list[str]], ways: list[list[str]]) -> list[list[str]]:
    """Each way behind each beginning; many are only as many as are too many."""
    if len(ways) != 1:
        return [one + way for one, way in islice(product(before, ways), ALTERNATIVES_LIMIT + 1)]
    for one in before:
        one.extend(ways[0])
    return before


def fixed_folders(parts: Sequence[Part]) -> tuple[str, ...]:
    """The names that a pattern begins with, before any that may be one of several."""
    names: list[str] = []
    for part in parts:
        if any(sign in {"*", "?"} or sign.startswith("[") for sign in part):
            break
        names.append("".join(sign[-1] for sign in part))
    return tuple(names)


def below(parts: Sequence[Part]) -> str:
    """An expression of RE2 for what a pattern names and all below it; names of folders end with a slash.

    One with stars that ends with a slash names folders alone. Raises `Invalid` where nothing can fit.
    """
    if parts == [(".",)]:
        return "(?s:.+)"
    is_folder = parts[-1] == () and len(fixed_folders(parts)) < len(parts)
    parts = parts[:-1] if parts[-1] == () else parts
    begin, last = _begin(parts), parts[-1] if parts else ()
    if not parts or _leads_elsewhere(parts):
        raise Invalid("it names no path inside the project's folder")
    if last == ("*", "*"):
        return f"(?s:{begin}.*{'' if begin or not is_folder else '/.*'})"
    return f"(?s:{begin}{_name(last)}{'/.*' if is_folder else '(?:/.*)?'})"


def exactly(parts: Sequence[Part]) -> str:
    """An expression for the paths that a pattern names, and nothing below; no name ends with a slash."""
    begin, last = _begin(parts), parts[-1]
    if last == ("*", "*"):
        return f"(?s:{begin[:-1]}(?:/.*)?)" if begin.endswith("/") else f"(?s:{begin}.*)"
    return f"(?s:{begin}{_name(last)})"


def _signs(pattern: str) -> tuple[str, ...]:
    signs: list[str] = []
    place = depth = 0
    # The first that fits nothing ends it: to look for the next one would read the rest once for each open bracket.
    while depth >= 0 and (found := _SIGN.match(pattern, place)) is not None:
        signs.append(found[0])
        place = found.end()
        depth += {"{": 1, "}": -1}.get(found[0], 0)
    if depth or place < len(pattern):
        raise Invalid("a brace, a bracket or a backslash of it stands alone")
    return tuple(signs)


def _parts(signs: tuple[str, ...]) -> list[Part]:
    parts, start = [], 0
    for place, sign in enumerate(signs):
        if sign == "/":
            parts.append(signs[start:place])
            start = place + 1
    return [*parts, signs[start:]]


def _leads_elsewhere(parts: Sequence[Part]) -> bool:
    return any(part in {(), (".",), (".", ".")} or any("/" in sign for sign in part) for part in parts)


def _begin(parts: Sequence[Part]) -> str:
    return "".join("(?:[^/]+/)*" if part == ("*", "*") else f"{_name(part)}/" for part in parts[:-1])


def _name(part: Part) -> str:
    """One name; none is empty."""
    if set(part) == {"*"}:
        return "[^/]+"
    return "".join(_expression(sign) for sign in part)


def _expression(sign: str) -> str:
    if sign.startswith("["):
        return _class(sign[1:-1])
    return {"*": "[^/]*", "?": "[^/]"}.get(sign) or re.escape(sign[-1])


def _class(inside: str) -> str:
    """A class by what stands in its brackets; it has no slash."""
    is_negated = inside[0] in "!^"
    signs = re.findall(r"\\.|.", inside[is_negated:], re.DOTALL)
    ranges: list[tuple[str, str]] = []
    place, may_begin = 0, False
    while place < len(signs):
        if may_begin and signs[place] == "-" and place + 1 < len(signs):
            ranges.append((ranges[-1][0], signs[place + 1][-1]))
            place, may_begin = place + 2, False
        else:
            ranges.append((signs[place][-1],) * 2)
            place, may_begin = place + 1, True
    text = "".join(f"\\x{{{ord(low):x}}}-\\x{{{ord(high):x}}}" for low, high in ranges if low <= high)
    if is_negated:
        return f"[^/{text}]"
    return f"[{text}]" if text else _NO_SIGN
