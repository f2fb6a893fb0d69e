"""Folders of an archive: what is in each, also where no entry names them, and text as far as it is shown."""

from collections.abc import AsyncIterator

import pytest

from api.pages.jobs.archive_folders import MAX_TRAIL, PER_PAGE, folder_of, trail_of
from api.pages.jobs.file_kinds import MAX_PICTURE, Kind, kind_of, type_of_part
from api.pages.jobs.file_text import MAX_BYTES, MAX_LINE, MAX_LINES, Text, text_of
from domain.errors import NotFound
from storage.zip_directory import Entry


def entries(**sizes: int) -> list[Entry]:
    """Entries by name; one that ends in a slash is a folder."""
    return [Entry(name, size, size, 0, 0, 0, name.endswith("/")) for name, size in sizes.items()]


FILES = entries(**{"a": 1, "b/c": 2, "b/d/e": 3, "empty/": 0, "b/d/f": 4})


def test_folders_come_first_with_what_is_below_them() -> None:
    top = folder_of(FILES, "")
    assert [(one.name, one.size, one.files, one.is_folder) for one in top.children] == [
        ("b", 9, 3, True),
        ("empty", 0, 0, True),
        ("a", 1, 1, False),
    ]
    inner = folder_of(FILES, "b")
    assert [(one.path, one.size) for one in inner.children] == [("b/d", 7), ("b/c", 2)]
    assert folder_of(FILES, "empty").children == []
    for missing in ("x", "a", "b/c", "b/"):
        with pytest.raises(NotFound):
            folder_of(FILES, missing)


def test_pages_are_those_that_there_are() -> None:
    many = entries(**{f"{number:04}": 0 for number in range(PER_PAGE + 1)})
    assert [len(folder_of(many, "", page).children) for page in (1, 2, 3, 10**9)] == [PER_PAGE, 1, 1, 1]


def test_the_way_to_a_deep_folder_is_cut() -> None:
    assert trail_of("a/b/c") == [("a", "a"), ("b", "a/b"), ("c", "a/b/c")]
    assert len(trail_of("/".join("x" * 30_000))) == MAX_TRAIL


def test_a_file_is_shown_by_its_name_and_size() -> None:
    assert kind_of("a/B.HTML", 1) is Kind.REPORT
    assert kind_of("a.svg", 1) is Kind.PICTURE
    assert kind_of("a.png", MAX_PICTURE + 1) is Kind.OTHER
    assert kind_of("html", 1) is Kind.OTHER
    assert kind_of("a.xhtml", 1) is Kind.OTHER
    assert type_of_part("x.unknown") == "application/octet-stream"


async def chunks(*parts: bytes) -> AsyncIterator[bytes]:
    for part in parts:
        yield part


@pytest.mark.parametrize(
    ("parts", "found"),
    [
        ((b"one\r\ntwo\n",), Text(["one", "two"], is_cut=False)),
        ((b"a\x00b",), None),
        ((b"\xff\xfe",), None),
        ((b"",), Text([], is_cut=False)),
        ((b"\xe2\x82", b"\xac"), Text(["\u20ac"], is_cut=False)),
        ((b"\xe2\x80\xaee\x1b[31m\n",), Text(["[U+202E]e\u241b[31m"], is_cut=False)),
        ((b"x" * (MAX_LINE + 1),), Text(["x" * MAX_LINE], is_cut=True)),
        ((b"\n" * (MAX_LINES + 1),), Text([""] * MAX_LINES, is_cut=True)),
    ],
)
async def test_text_is_what_is_utf_8_without_signs_that_hide(parts: tuple[bytes, ...], found: Text | None) -> None:
    assert await text_of(chunks(*parts), sum(map(len, parts))) == found


async def test_no_more_is_read_than_is_shown() -> None:
    read = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal read
        while True:
            read += 1024
            yield "\u20ac".encode() * 341 + b"\n"

    text = await text_of(endless(), 10**12)
    assert text is not None
    assert text.is_cut
    assert read <= MAX_BYTES + 2048
