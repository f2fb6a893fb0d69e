"""One word for one thing: names that the code base no longer uses (docs/glossary.md) do not come back."""

import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parents[1]
OUT: Final = {
    r"_?(MOST|LONGEST|LARGEST)(_[A-Z_]+)?": "MAX_ and what is limited",
    r"([A-Z_]*_)?AT_ONCE": "MAX_CONCURRENT, or MAX_BATCH",
    r"([A-Z_]*_)?TRIES": "MAX_ATTEMPTS",
    r"surroundings": "context",
}
"""Names that are out, as patterns of whole names, and what is said instead."""
PRONOUNS: Final = re.compile(r"\b(he|his|him|himself)\b", re.IGNORECASE)
"""People are they."""
NOT_OURS: Final = ("migrations", "examples", ".venv", ".perdure", "node_modules")
CHANGELOG: Final = ROOT / "CHANGELOG.md"


def names(source: str) -> Iterator[tuple[int, str]]:
    """Every name of a module with its line."""
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.NAME:
            yield token.start[0], token.string


def faults(source: str) -> list[str]:
    """Names of a module that are out, each with what is said instead."""
    return [
        f"{line}: {name}: say {instead}"
        for line, name in names(source)
        for pattern, instead in OUT.items()
        if re.fullmatch(pattern, name)
    ]


def test_names_are_those_of_the_field() -> None:
    files = [file for file in ROOT.rglob("*.py") if not set(NOT_OURS) & set(file.relative_to(ROOT).parts)]
    assert len(files) > 1_000
    assert [f"{file.relative_to(ROOT)}:{fault}" for file in files for fault in faults(file.read_text())] == []


@pytest.mark.parametrize("name", ["MOST_JOBS", "_LONGEST", "LARGEST", "_TRIES", "AT_ONCE", "_PARTS_AT_ONCE"])
def test_a_name_that_is_out_is_found(name: str) -> None:
    assert len(faults(f"{name} = 1\n")) == 1


def test_people_are_they() -> None:
    texts = [
        file
        for kind in ("*.py", "*.md")
        for file in ROOT.rglob(kind)
        if not {*NOT_OURS, "cases"} & set(file.relative_to(ROOT).parts) and file not in (Path(__file__), CHANGELOG)
    ]
    assert len(texts) > 1_000
    found = [
        f"{file.relative_to(ROOT)}:{number}: {line.strip()}"
        for file in texts
        for number, line in enumerate(file.read_text().splitlines(), 1)
        if PRONOUNS.search(line)
    ]
    assert found == []
