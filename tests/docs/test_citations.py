"""What comments and docstrings cite: pages and headings of `docs/`, and requirements, that exist.

There is one form: `docs/PAGE.md, "Heading", "Heading"` for pages, several of them separated by `;`, and `R1.2` for
requirements. A page of `docs/reference/` is never cited without a heading.
"""

import io
import re
import subprocess
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.docs.test_requirements import REQUIREMENTS

ROOT = Path(__file__).parents[2]
REFERENCE = sorted((ROOT / "docs" / "reference").glob("*.md"))
_OWN = {"tests/docs/test_citations.py"}
_PAGE = re.compile(r'(docs/[\w/-]+\.md)((?:, "[^"]+")+)')
_BARE = re.compile(r'docs/reference/(?![\w/-]+\.md, ")\S*')
_REQUIREMENT = re.compile(r"(?<![\w.])R\d+\.\d+(?![\w.]*\d)")
_KNOWN = {one.name for one in REQUIREMENTS}
_BOOKS = r"(?:CI YAML|runner protocol|step runner|reliability|fleet|ux|design)"
_OLD = re.compile(
    rf"\([Rr]eference: |\breference: {_BOOKS}|^Reference: |\. Reference: |\bTexts: reference|\bseeds? 00\d"
    rf"|\b{_BOOKS}(?: and processing)?,(?: row| sections?)? (?:[A-Z]?\d|\")|\(sections? \d+\)"
)


def files() -> list[str]:
    """The Python files of the repository."""
    listed = subprocess.run(
        ["git", "ls-files", "*.py"], cwd=ROOT, capture_output=True, text=True, check=False
    ).stdout.split()
    found = listed or [str(path.relative_to(ROOT)) for path in ROOT.rglob("*.py") if ".venv" not in path.parts]
    return sorted({path for path in found if (ROOT / path).is_file()} - _OWN)


def texts(source: str) -> Iterator[str]:
    """The docstrings and other texts of three quotes, and the blocks of comments, each in one line."""
    comment: list[str] = []
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            comment.append(token.string.lstrip("#").strip())
        elif token.type not in {tokenize.NL, tokenize.NEWLINE}:
            if comment:
                yield " ".join(comment)
                comment = []
            if token.type == tokenize.STRING and token.string.startswith('"""'):
                yield " ".join(token.string[3:-3].split())


@cache
def every_text() -> tuple[tuple[str, str], ...]:
    """The texts of all files, each with the path of its file: reading them takes a while."""
    return tuple((path, text) for path in files() for text in texts((ROOT / path).read_text()))


@cache
def headings(page: str) -> frozenset[str]:
    """What is written in the headings of a page."""
    return frozenset(re.findall(r"^#{2,6} (.+)$", (ROOT / page).read_text(), re.MULTILINE))


def faults(text: str) -> Iterator[str]:
    """What is wrong with the citations of a text."""
    for page, cited in _PAGE.findall(text):
        if not (ROOT / page).is_file():
            yield f"there is no {page}"
            continue
        for heading in re.findall(r'"([^"]+)"', cited):
            if heading not in headings(page):
                yield f'{page} has no "{heading}"'
    yield from (f"there is no {name}" for name in _REQUIREMENT.findall(text) if name not in _KNOWN)
    yield from (f"{page} without a heading" for page in _BARE.findall(text))
    yield from (f"not in the form of citations: {old!r}" for old in _OLD.findall(text))


def test_what_is_cited_exists() -> None:
    assert [f"{path}: {fault}" for path, text in every_text() for fault in faults(text)] == []


def test_the_code_cites_every_page_of_the_reference() -> None:
    cited = {page for _, text in every_text() for page, _ in _PAGE.findall(text)}
    unread = {page.relative_to(ROOT).as_posix() for page in REFERENCE} - cited
    assert unread == set()


@pytest.mark.parametrize(
    "text",
    [
        'Source: docs/reference/none.md, "Limits".',
        'Of somebody (docs/reference/ci-yaml.md, "Limits", "Nothing").',
        "As asked for (R0.99).",
        "See docs/reference/ci-yaml.md.",
        "Reference: CI YAML, section 6.",
        "A job (reference: runner protocol, section 9).",
        'Ids (design, "Ids").',
        "As in seed 003.",
        "It is bounded (reliability, row F3).",
        "Never to pending (section 11).",
    ],
)
def test_a_wrong_citation_is_noticed(text: str) -> None:
    assert list(faults(text))


@pytest.mark.parametrize(
    "text",
    [
        'Source: docs/reference/ci-yaml.md, "Limits", "Cache"; docs/seam.md, "Ids"; R0.1.',
        "Several ranges get the whole, as RFC 9110, section 14.2 permits.",
        "Whoever dies by design, nobody notices.",
    ],
)
def test_what_is_right_is_not(text: str) -> None:
    assert list(faults(text)) == []


@pytest.mark.parametrize("page", REFERENCE, ids=lambda page: page.stem)
def test_every_part_of_a_reference_names_its_source(page: Path) -> None:
    parts = re.split(r"^## ", page.read_text(), flags=re.MULTILINE)[1:]
    assert parts
    assert [part.splitlines()[0] for part in parts if "\nSource: " not in part] == []
