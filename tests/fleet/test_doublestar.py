"""Our patterns find what those of GitLab Runner find."""

import json
import random
import re
from pathlib import Path

import pytest

from domain.errors import Invalid
from fleet.globs import excluded, find_files
from tests.fleet.doublestar.library import TABLE, TREE, Answer, ask, make_tree, random_pattern, random_tree

_ODD_EXCLUDE = re.compile(r"\*\*.*\{|\{.*\*\*|\*\{|\}\*|\*/\*\*/*$|\[[!^]")
"""Where the library does not do what it says when a name is compared: `**` beside braces or behind a star, and a class
of what is not in it, which takes slashes."""


def ours(root: Path, pattern: str) -> Answer:
    try:
        found = find_files(root, pattern)
    except Invalid:
        found = []
    names = [name for name in find_files(root, ".") if not name.endswith("/")]
    return Answer(pattern, found, sorted(excluded(names, root, [pattern])))


def differences(root: Path, answers: list[Answer]) -> list[tuple[Answer, Answer]]:
    pairs = [(ours(root, theirs.pattern), theirs) for theirs in answers]
    return [
        (one, theirs)
        for one, theirs in pairs
        if list(one.found) != list(theirs.found)
        or (one.excluded != theirs.excluded and not _ODD_EXCLUDE.search(one.pattern))
    ]


def test_our_patterns_find_what_the_table_says(tmp_path: Path) -> None:
    make_tree(tmp_path, TREE)
    answers = [Answer(**json.loads(line)) for line in TABLE.read_text().split("\n") if line]
    assert len(answers) > 200
    assert sum(bool(one.found) for one in answers) > 100
    assert differences(tmp_path, answers) == []


@pytest.mark.slow
@pytest.mark.nightly
def test_our_patterns_find_what_the_library_finds(tmp_path: Path) -> None:
    seed = random.randrange(10**6)
    chance = random.Random(seed)
    for number in range(80):
        root = tmp_path / str(number)
        root.mkdir()
        names = random_tree(chance)
        make_tree(root, names)
        patterns = [random_pattern(chance, names) for _ in range(50)]
        assert differences(root, list(ask(root, patterns))) == [], f"seed {seed}, tree {names}"
