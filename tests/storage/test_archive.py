"""Zip archives: what the standard library packs is read the same; what is hostile is refused."""

import asyncio
import io
import os
import shutil
import stat
import struct
import time
import zipfile
from pathlib import Path

import pytest

from domain.errors import Invalid, NotFound, TooLarge
from storage.archive import Archive
from storage.objects import ObjectStore
from storage.zip_directory import ENTRY_LIMIT

RANDOM = os.urandom(700_000)


@pytest.fixture
def store(tmp_path: Path) -> ObjectStore:
    """A store of files."""
    return ObjectStore.open(tmp_path.as_uri())


def packed(
    *files: tuple[str | zipfile.ZipInfo, bytes], method: int = zipfile.ZIP_DEFLATED, comment: bytes = b""
) -> bytes:
    """An archive of these names and contents."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for name, data in files:
            archive.writestr(name, data)
        archive.comment = comment
    return buffer.getvalue()


async def opened(store: ObjectStore, data: bytes) -> Archive:
    """The archive of these bytes."""
    await store.put("archive.zip", data)
    return await Archive.open(store, "archive.zip")


async def content(archive: Archive, name: str) -> bytes:
    """One file of it."""
    return b"".join([chunk async for chunk in archive.read(name)])


FILES = (("a/b.txt", b"text"), ("größe.bin", RANDOM), ("empty", b""), ("folder/", b""), ("zeros", b"\0" * 500_000))


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
@pytest.mark.parametrize("comment", [b"", b"c" * 60_000])
async def test_listing_and_files_are_those_of_the_standard_library(
    store: ObjectStore, method: int, comment: bytes
) -> None:
    data = packed(*FILES, method=method, comment=comment)
    archive = await opened(store, data)
    with zipfile.ZipFile(io.BytesIO(data)) as reference:
        expected = [(info.filename, info.file_size, info.CRC, info.is_dir()) for info in reference.infolist()]
    assert [(entry.name, entry.size, entry.crc32, entry.is_folder) for entry in archive.entries] == expected
    for name, plain in FILES:
        if not name.endswith("/"):
            assert await content(archive, name) == plain


async def test_streamed_archive_with_zip64_fields(store: ObjectStore) -> None:
    """As a runner writes it: sizes after the content, and wide fields."""

    class Unseekable(io.BytesIO):
        def seekable(self) -> bool:
            return False

        def tell(self) -> int:
            raise OSError

        def seek(self, *args: int) -> int:
            raise OSError

    buffer = Unseekable()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as writer, writer.open("a", "w", force_zip64=True) as file:
        file.write(RANDOM)
    archive = await opened(store, buffer.getvalue())
    assert await content(archive, "a") == RANDOM


async def test_zip64_end_record(store: ObjectStore) -> None:
    data = packed(("a", b"text"))
    place = data.rfind(b"PK\x05\x06")
    count, size, start = struct.unpack_from("<H2L", data, place + 10)
    end64 = struct.pack("<4sQ2H2L4Q", b"PK\x06\x06", 44, 45, 45, 0, 0, count, count, size, start)
    locator = struct.pack("<4sLQL", b"PK\x06\x07", 0, place, 1)
    end = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 0xFFFF, 0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0)
    archive = await opened(store, data[:place] + end64 + locator + end)
    assert await content(archive, "a") == b"text"
    with pytest.raises(Invalid, match="zip64"):
        await opened(store, data[:place] + end)


async def test_missing_names(store: ObjectStore) -> None:
    archive = await opened(store, packed(*FILES))
    for name in ("no", "folder/", "folder", "a"):
        with pytest.raises(NotFound, match="has no file"):
            await content(archive, name)
    with pytest.raises(NotFound):
        await Archive.open(store, "missing")


def linked(kind: int, name: str = "link") -> tuple[zipfile.ZipInfo, bytes]:
    """An entry with a file type of Unix."""
    info = zipfile.ZipInfo(name)
    info.create_system = 3
    info.external_attr = (kind | 0o777) << 16
    return info, b"/etc/passwd"


def renamed(name: bytes) -> bytes:
    """An archive whose one entry has exactly this name."""
    plain = b"n" * len(name)
    return packed((plain.decode(), b"x")).replace(plain, name)


def patched(data: bytes, offset: int, form: str, value: int) -> bytes:
    """The archive with one field of its first list entry changed."""
    place = data.find(b"PK\x01\x02") + offset
    return data[:place] + struct.pack(form, value) + data[place + struct.calcsize(form) :]


def overlapping() -> bytes:
    """Two entries that share one content."""
    data = packed(("a", RANDOM[:1000]), ("b", RANDOM[:1000]), method=zipfile.ZIP_STORED)
    place = data.rfind(b"PK\x01\x02") + 42
    return data[:place] + struct.pack("<L", 0) + data[place + 4 :]


def doubled() -> bytes:
    """Two entries of one name."""
    return packed(("aa", b"1"), ("bb", b"2")).replace(b"bb", b"aa")


PLAIN = packed(("name", b"text"))
HOSTILE = {
    "parent": renamed(b"../x"),
    "inner parent": renamed(b"a/../../x"),
    "absolute": renamed(b"/etc/passwd"),
    "drive": renamed(b"C:/x"),
    "backslash": renamed(b"..\\x"),
    "nul": renamed(b"a\0.txt"),
    "control": renamed(b"a\x1b[2J"),
    "empty part": renamed(b"a//b"),
    "dot part": renamed(b"./a"),
    "reversed text": packed(("a\u202etxt.exe", b"x")),
    "overlap": overlapping(),
    "double": doubled(),
    "double by unicode": packed(("\u00e9", b"1"), ("e\u0301", b"2")),
    "not utf-8": packed(("\u00e9\u00e9", b"1")).replace(b"\xc3\xa9", b"\xff\xff"),
    "content beyond the list": patched(PLAIN, 20, "<L", 5000),
    "offset beyond the list": patched(PLAIN, 42, "<L", 5000),
    "cut": PLAIN[:-10],
    "bytes behind": PLAIN + b"x",
    "bytes before": b"#!/bin/sh\n" + PLAIN,
    "no zip": b"hello",
    "empty": b"",
    "list cut": PLAIN[: PLAIN.find(b"PK\x01\x02") + 20] + PLAIN[PLAIN.find(b"PK\x05\x06") :],
    "name longer than the list": patched(PLAIN, 28, "<H", 60_000),
    "folder with content": packed(linked(stat.S_IFDIR, "folder/")),
}


@pytest.mark.parametrize("data", HOSTILE.values(), ids=HOSTILE.keys())
async def test_hostile_and_broken_archives_are_refused(store: ObjectStore, data: bytes) -> None:
    with pytest.raises(Invalid, match="zip"):
        await opened(store, data)


REFUSED = {
    "link": (packed(linked(stat.S_IFLNK), ("a", b"x")), "is a symbolic link"),
    "link to a folder": (packed(linked(stat.S_IFLNK), ("link/a", b"y"), ("a", b"x")), "is a symbolic link"),
    "device": (packed(linked(stat.S_IFBLK), ("a", b"x")), "is no file"),
    "pipe": (packed(linked(stat.S_IFIFO), ("a", b"x")), "is no file"),
    "folder without a slash": (packed(linked(stat.S_IFDIR), ("a", b"x")), "is no file"),
    "encrypted": (patched(packed(("link", b"text"), ("a", b"x")), 8, "<H", 1), "is encrypted"),
}


@pytest.mark.parametrize(("data", "said"), REFUSED.values(), ids=REFUSED.keys())
async def test_one_entry_that_is_not_given_leaves_the_others(store: ObjectStore, data: bytes, said: str) -> None:
    archive = await opened(store, data)
    assert {"link", "a"} <= {entry.name for entry in archive.entries}
    assert await content(archive, "a") == b"x"
    with pytest.raises(Invalid, match=f"'link' in the archive {said}"):
        await content(archive, "link")


@pytest.mark.skipif(shutil.which("zip") is None, reason="not run: no zip; install Debian's package zip")
async def test_links_as_the_program_zip_packs_them(store: ObjectStore, tmp_path: Path) -> None:
    (tmp_path / "node_modules/.bin").mkdir(parents=True)
    (tmp_path / "node_modules/x.js").write_text("1")
    (tmp_path / "node_modules/.bin/x").symlink_to("../x.js")
    (tmp_path / "lib.so").symlink_to("node_modules")
    run = await asyncio.create_subprocess_exec(
        "zip", "-qry", "all.zip", "lib.so", "node_modules", cwd=tmp_path, stdin=asyncio.subprocess.DEVNULL
    )
    assert await run.wait() == 0
    archive = await opened(store, (tmp_path / "all.zip").read_bytes())
    refused = {entry.name for entry in archive.entries if entry.refusal}
    assert refused == {"lib.so", "node_modules/.bin/x"}
    assert await content(archive, "node_modules/x.js") == b"1"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (packed(*((f"f{number}", b"") for number in range(ENTRY_LIMIT + 1))), "more than 10000 entries"),
        (packed(("bomb", b"\0" * 5_000_000)), "more than 100 times"),
        (patched(PLAIN, 24, "<L", 2**31), "at most 1073741824"),
    ],
    ids=["entries", "ratio", "total"],
)
async def test_bombs_are_refused(store: ObjectStore, data: bytes, message: str) -> None:
    with pytest.raises(TooLarge, match=message):
        await opened(store, data)


async def test_many_entries_behind_a_small_count_are_refused_before_they_are_read(store: ObjectStore) -> None:
    entry = struct.pack("<4s6H3L5H2L", b"PK\x01\x02", *(0 for _ in range(9)), 1, *(0 for _ in range(6))) + b"a"

    async def seconds(entries: int) -> float:
        directory = entry * entries
        end = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 5, 5, len(directory), 0, 0)
        begun = time.process_time()
        with pytest.raises(TooLarge, match="more than 10000 entries"):
            await opened(store, directory + end)
        return time.process_time() - begun

    assert min([await seconds(150_000) for _ in range(3)]) < 8 * max([await seconds(15_000) for _ in range(3)])


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (patched(PLAIN, 16, "<L", 1), "size or checksum differ"),
        (patched(PLAIN, 24, "<L", 3), "size or checksum differ"),
        (patched(PLAIN, 24, "<L", 5), "size or checksum differ"),
        (patched(PLAIN, 20, "<L", 3), "content is cut"),
        (patched(PLAIN, 10, "<H", 12), "packed by method 12"),
        (PLAIN.replace(b"name", b"nama", 1), "another name in the list"),
        (PLAIN.replace(b"PK\x03\x04", b"PK\x03\x05", 1), "not where the list says"),
    ],
)
async def test_content_that_is_not_as_listed_is_an_error(store: ObjectStore, data: bytes, message: str) -> None:
    archive = await opened(store, data)
    with pytest.raises(Invalid, match=message):
        await content(archive, "name")


async def test_the_end_of_a_damaged_content_never_comes(store: ObjectStore) -> None:
    """Whoever was told its length beforehand can then not take it for whole."""
    archive = await opened(
        store, packed(("name", RANDOM), method=zipfile.ZIP_STORED).replace(RANDOM[-9:], b"damaged!!")
    )
    got = bytearray()

    async def read() -> None:
        async for chunk in archive.read("name"):
            got.extend(chunk)

    with pytest.raises(Invalid, match="checksum"):
        await read()
    assert 0 < len(got) < len(RANDOM)
