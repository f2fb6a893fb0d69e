"""Globs: what they match, and that a second way to compare them finds the same."""

import re
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from domain.config.rules.globs import Glob, PathText, is_exact, is_extension, is_top_level
from domain.errors import Invalid


@pytest.mark.parametrize(
    ("glob", "matched", "others"),
    [
        ("Dockerfile", ["Dockerfile"], ["Dockerfile2", "a/Dockerfile", "dockerfile"]),
        ("Docker*", ["Dockerfile", "Docker"], ["a/Dockerfile"]),
        ("*", ["a", ".a"], ["a/b"]),
        ("src/*", ["src/a", "src/.a"], ["src/a/b", "src", "src/"[:-1]]),
        ("src/**/*", ["src/a", "src/a/b", "src/.a/.b"], ["a", "lib/src/a"]),
        ("**/*", ["a", "a/b", ".a/b/c"], []),
        ("**/*.md", ["a.md", "docs/a.md", "docs/b/.md"], ["a.mdx"]),
        ("docs/**/*.md", ["docs/a.md", "docs/b/c/a.md"], ["docs.md", "docs/a.txt"]),
        ("docs/**", ["docs/a"], ["docs/a/b"]),
        ("a**b", ["ab", "axb"], ["a/b"]),
        ("/*.go", [], ["main.go"]),
        ("a?c", ["abc", "aäc"], ["ac", "a/c"]),
        ("{a,b}/*.py", ["a/x.py", "b/x.py"], ["c/x.py"]),
        ("*.{js,ts}", ["a.js", "a.ts"], ["a.css"]),
        ("{src/,}**/*.py", ["a.py", "src/a.py", "b/a.py"], []),
        ("{a,{b,c}d}e", ["ae", "bde", "cde"], ["be", "ade"]),
        ("a{}b", ["ab"], ["a{}b"]),
        ("a{b", ["a{b"], ["ab"]),
        ("a}b,c", ["a}b,c"], []),
        ("{a,b}{c", ["a{c", "b{c"], []),
        ("{{a,b}", ["{{a,b}"], ["{a"]),
        ("[a-c]x", ["ax", "cx"], ["dx"]),
        ("[!a-c]x", ["dx"], ["ax", "/x"]),
        ("[^a]", ["b"], ["a"]),
        ("[]a]", [], ["]", "a", "a]"]),
        ("[a", [], ["[a", "a"]),
        ("[c-a]", [], ["a", "b", "c"]),
        ("a[.-0]b", ["a.b", "a0b"], ["a/b"]),
        (r"\*", ["*"], ["a"]),
        (r"[\]]", ["]"], ["\\"]),
        (r"\{a,b}", ["{a,b}"], ["a"]),
        ("{[a-,b]}", ["b]"], ["a", "-"]),
        ("$X.+(a|b)^", ["$X.+(a|b)^"], ["$X"]),
    ],
)
def test_matches(glob: str, matched: list[str], others: list[str]) -> None:
    assert [path for path in matched + others if Glob(glob).matches(path)] == matched


def test_a_slash_at_the_end_is_a_folder_only_where_that_is_wished() -> None:
    assert Glob("docs/", folders=True).matches("docs/a/b.md")
    assert Glob("*/", folders=True).matches("docs/b.md")
    assert not Glob("docs/", folders=True).matches("docs")
    assert not Glob("docs/", folders=True).matches("a/docs/b")
    assert not Glob("docs/").matches("docs/a")


def test_all_paths_are_searched_at_once() -> None:
    paths = PathText.of(("a/b.md", "c.py", "d.py", "odd\0name.go"))
    assert Glob("*.py").first(paths) == "c.py"
    assert Glob("d.py").first(paths) == "d.py"
    assert Glob("*.go").first(paths) is None
    assert Glob("b.md\0\0c.py").first(paths) is None
    assert Glob("*\0").first(paths) is None


def test_a_glob_may_not_be_endless() -> None:
    with pytest.raises(Invalid, match="too long for a glob"):
        Glob("*" * 5_000)
    assert not Glob("{a,b}" * 800).matches("c")


def test_kinds() -> None:
    assert is_exact("a/b.md")
    assert not any(map(is_exact, ("*", "a?", "[a]", "{a}", "\\a")))
    assert is_extension("**/*.go")
    assert not any(map(is_extension, (".go", "*.go", "**/*", "**/*.g*", "**/*.a/b")))
    assert is_top_level("*.py")
    assert not any(map(is_top_level, ("a/b", "**.py")))


PIECES = st.sampled_from(
    ["a", "b", "/", ".", "*", "**/", "**", "?", "[ab]", "[!a]", "[a", "{a,b}", "{a*,b/c}", "{,x}", "{"]
)
PATHS = st.lists(st.sampled_from(["a", "b", ".", "ab", "x", "c", "/", "{"]), min_size=1, max_size=6).map("".join)


def test_a_set_that_alternatives_cut_matches_nothing() -> None:
    assert not any(Glob("[a{a,b}[ab]").matches(path) for path in ("a", "b", "[", "[ab]"))


CUT = re.compile(r"\[[^\]]*[{},]")
"""Alternatives within a set: Ruby puts them in before it looks for sets, and we do not."""


@given(st.lists(PIECES, max_size=6).map("".join).filter(lambda glob: not CUT.search(glob)), PATHS)
@example("[a/[ab]", "a")
def test_a_second_way_to_compare_finds_the_same(glob: str, path: str) -> None:
    assert Glob(glob).matches(path) is any(_compare(_segments(one), path.split("/")) for one in _braces(glob))


@given(st.text("a/*?[]{},!^-\\b"), st.text("ab/{}[]", min_size=1))
def test_any_text_is_a_glob(glob: str, path: str) -> None:
    assert Glob(glob, folders=True).matches(path) in (True, False)


def _braces(glob: str) -> list[str]:
    """Every glob that one with alternatives stands for."""
    start = glob.find("{")
    depth = 0
    cuts = [start]
    for position in range(start, len(glob)) if start >= 0 else ():
        sign = glob[position]
        depth += (sign == "{") - (sign == "}")
        if depth == 1 and sign == ",":
            cuts.append(position)
        if depth == 0:
            cuts.append(position)
            inner = [glob[low + 1 : high] for low, high in pairwise(cuts)]
            return [one for text in inner for one in _braces(glob[:start] + text + glob[position + 1 :])]
    return [glob]


def _segments(glob: str) -> list[str]:
    """A glob cut at its slashes; one within a set is a member of it (Ruby's `File.fnmatch`)."""
    found, begin, position = [], 0, 0
    while position < len(glob):
        if glob[position] == "[":
            position = max(position, glob.find("]", position))
        elif glob[position] == "/":
            found.append(glob[begin:position])
            begin = position + 1
        position += 1
    return [*found, glob[begin:]]


def _compare(globs: list[str], names: list[str]) -> bool:
    """Segment by segment; `**` followed by another segment is any number of segments."""
    if not globs or not names:
        return not globs and not names
    if globs[0] == "**" and len(globs) > 1:
        return _compare(globs[1:], names) or _compare(globs, names[1:])
    return _segment(globs[0], names[0]) and _compare(globs[1:], names[1:])


def _segment(glob: str, name: str) -> bool:
    if not glob:
        return not name
    if glob[0] == "*":
        return _segment(glob[1:], name) or (bool(name) and _segment(glob, name[1:]))
    if glob[0] == "[":
        end = glob.find("]")
        if end < 0 or not name:
            return False
        inside = glob[1:end]
        found = (name[0] not in inside[1:]) if inside.startswith("!") else name[0] in inside
        return found and _segment(glob[end + 1 :], name[1:])
    return bool(name) and (glob[0] in ("?", name[0])) and _segment(glob[1:], name[1:])
