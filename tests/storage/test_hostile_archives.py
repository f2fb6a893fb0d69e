"""Every hostile archive is refused within two seconds, in little memory, and writes nothing anywhere.

Source: docs/reference/reliability.md, "Hostile files". An archive whose list is fine but whose content is not is
refused when that is read.
"""

import io
import random
import struct
import time
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from domain.errors import Invalid, TooLarge
from storage.archive import Archive
from storage.objects import ObjectStore
from storage.zip_directory import ENTRY_LIMIT
from tests.storage.test_archive import HOSTILE, PLAIN, packed, patched

GROWTH = 64 * 1024 * 1024
MAX_TIMES = 10
"""Times what it costs to open the largest archive that is allowed."""
_ENTRY = struct.Struct("<4s6H3L5H2L")
_LOCAL = struct.Struct("<4s5H3L2H")
_END = struct.Struct("<4s4H2LH")


def entry(
    name: bytes,
    *,
    size: int = 0,
    packed_size: int = 0,
    offset: int = 0,
    extra: bytes = b"",
    method: int = 0,
    crc: int = 0,
) -> bytes:
    """One entry of a list."""
    lengths = (len(name), len(extra), 0)
    return (
        _ENTRY.pack(b"PK\x01\x02", 45, 45, 0, method, 0, 0, crc, packed_size, size, *lengths, 0, 0, 0, offset)
        + name
        + extra
    )


def listed(directory: bytes, count: int, before: bytes = b"") -> bytes:
    """An archive with this list, whatever it says."""
    end = _END.pack(b"PK\x05\x06", 0, 0, count, count, len(directory), len(before), 0)
    return before + directory + end


def listed64(directory: bytes, count: int, *, start: int = 0, at: int | None = None) -> bytes:
    """The same with a zip64 end record; `start` and `at` are where it says that list and record stand."""
    record = struct.pack("<4sQ2H2L4Q", b"PK\x06\x06", 44, 45, 45, 0, 0, count, count, len(directory), start)
    locator = struct.pack("<4sLQL", b"PK\x06\x07", 0, len(directory) if at is None else at, 1)
    return directory + record + locator + _END.pack(b"PK\x05\x06", 0, 0, 0xFFFF, 0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0)


def wide(*values: int) -> bytes:
    """A zip64 field of these values."""
    return struct.pack(f"<2H{len(values)}Q", 1, 8 * len(values), *values)


def deflated(data: bytes) -> bytes:
    """Raw deflate."""
    packing = zlib.compressobj(9, wbits=-15)
    return packing.compress(data) + packing.flush()


def local(name: bytes, content: bytes, size: int, *, method: int = 8, crc: int = 0) -> bytes:
    """An entry's content with its own header."""
    head = _LOCAL.pack(b"PK\x03\x04", 20, 0, method, 0, 0, crc, len(content), size, len(name), 0)
    return head + name + content


def one_file(content: bytes, size: int, *, method: int = 8, local_method: int = 8, crc: int = 0) -> bytes:
    """An archive of one file `x` whose list says `size` and `crc`."""
    body = local(b"x", content, size, method=local_method, crc=crc)
    return listed(entry(b"x", size=size, packed_size=len(content), method=method, crc=crc), 1, body)


def all_share_one_content() -> bytes:
    """The bomb without nesting: 250 entries, each with the content of the one that all share."""
    body = local(b"x", deflated(b"\0" * 4_000_000), 4_000_000)
    names = [b"%d" % number for number in range(250)]
    return listed(b"".join(entry(name, size=4_000_000, packed_size=4_000, method=8) for name in names), 250, body)


def comment_with_an_end() -> bytes:
    """The longest comment, with an end record of its own in it."""
    fake = _END.pack(b"PK\x05\x06", 0, 0, 0, 0, 0, 0, 0)
    return packed(("a", b"x"), comment=(b"c" * 30_000) + fake + b"c" * 30_000)


LISTS: dict[str, Callable[[], bytes]] = {
    "a million entries": lambda: listed64(entry(b"a") * 1_000_000, 1_000_000),
    "a million entries told as five": lambda: listed(entry(b"a") * 1_000_000, 5),
    "entries beyond count": lambda: listed(entry(b"a") + entry(b"b"), 1),
    "count beyond entries": lambda: listed(entry(b"a"), 2),
    "shared content": all_share_one_content,
    "zip64 size": lambda: listed(entry(b"a", size=0xFFFFFFFF, extra=wide(2**63)), 1),
    "zip64 sizes that overflow together": lambda: listed(
        entry(b"a", size=0xFFFFFFFF, extra=wide(2**64 - 1)) + entry(b"b", size=0xFFFFFFFF, extra=wide(2)), 2
    ),
    "zip64 size without a field": lambda: listed(entry(b"a", size=0xFFFFFFFF), 1),
    "zip64 field cut": lambda: listed(entry(b"a", size=0xFFFFFFFF, extra=wide(5)[:-3]), 1),
    "zip64 field too short": lambda: listed(entry(b"a", size=0xFFFFFFFF, packed_size=0xFFFFFFFF, extra=wide(5)), 1),
    "zip64 offset beyond": lambda: listed(entry(b"a", offset=0xFFFFFFFF, extra=wide(2**62)), 1),
    "zip64 list beyond": lambda: listed64(entry(b"a"), 1, start=2**60),
    "zip64 record beyond": lambda: listed64(entry(b"a"), 1, at=2**62),
    "zip64 count": lambda: listed64(entry(b"a"), 2**60),
    "comment with another end": comment_with_an_end,
    "list of another archive behind": lambda: PLAIN + PLAIN,
    "random behind a signature": lambda: b"PK\x03\x04" + random.Random(1).randbytes(200_000),
    "long name": lambda: listed(entry(b"../" * 20_000 + b"x"), 1),
    "name of slashes": lambda: listed(entry(b"/" * 60_000), 1),
    "device of Windows behind a drive": lambda: listed(entry(b"c:nul"), 1),
    "share": lambda: listed(entry(b"\\\\host\\share\\x"), 1),
    "folder and file of one name": lambda: listed(entry(b"a/") + entry(b"a"), 2),
    "parent in another encoding": lambda: listed(entry("\u202e..".encode()), 1),
}


def rss(field: str) -> int:
    """Memory of this process in bytes: `VmRSS` now, or `VmHWM`, the most since it was reset."""
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(field))
    return int(line.split()[1]) * 1024


def reset_peak() -> int:
    """Begin to measure; what is in use now."""
    Path("/proc/self/clear_refs").write_text("5")
    return rss("VmRSS")


def everything_in(folder: Path) -> list[Path]:
    """All files and folders."""
    return sorted(folder.rglob("*"))


async def refused(store: ObjectStore, read: bool) -> None:
    """Open the archive and, if it can be opened, read its file."""
    archive = await Archive.open(store, "archive.zip")
    if read:
        async for _ in archive.read("x"):
            pass


@pytest.fixture(scope="module")
async def honest(tmp_path_factory: pytest.TempPathFactory) -> float:
    """Seconds of processor time until an archive with as many files as are allowed is open."""
    store = ObjectStore.open(tmp_path_factory.mktemp("honest").as_uri())
    await store.put("archive.zip", packed(*((f"f{number}", b"") for number in range(ENTRY_LIMIT))))
    started = time.process_time()
    await Archive.open(store, "archive.zip")
    return time.process_time() - started


async def check(folder: Path, data: bytes, honest: float, *, read: bool = False) -> None:
    """An archive is refused in time and memory; nothing but itself lies anywhere in `folder`."""
    store = ObjectStore.open((folder / "a" / "b" / "objects").as_uri())
    await store.put("archive.zip", data)
    del data
    files = everything_in(folder)
    before, started = reset_peak(), time.process_time()
    with pytest.raises((Invalid, TooLarge)):
        await refused(store, read)
    assert time.process_time() - started < MAX_TIMES * honest
    assert rss("VmHWM") - before < GROWTH
    assert everything_in(folder) == files


@pytest.mark.parametrize("make", LISTS.values(), ids=LISTS.keys())
async def test_a_hostile_list_is_refused(tmp_path: Path, make: Callable[[], bytes], honest: float) -> None:
    await check(tmp_path, make(), honest)


@pytest.mark.parametrize("data", HOSTILE.values(), ids=HOSTILE.keys())
async def test_the_plain_kinds_are_refused_as_cheaply(tmp_path: Path, data: bytes, honest: float) -> None:
    await check(tmp_path, data, honest)


CONTENTS: dict[str, Callable[[], bytes]] = {
    "more than the list says": lambda: one_file(deflated(b"\0" * 50_000_000), 100),
    "less than the list says": lambda: one_file(deflated(b"abc"), 100),
    "wrong checksum": lambda: one_file(deflated(b"abc"), 3, crc=1),
    "not deflate": lambda: one_file(b"\xff" * 100, 100),
    "cut deflate": lambda: one_file(deflated(random.Random(1).randbytes(5_000))[:-100], 5_000),
    "an unknown method": lambda: one_file(b"abc", 3, method=99, crc=zlib.crc32(b"abc")),
    "stored in the list only": lambda: one_file(deflated(b"abc"), 3, method=0, crc=zlib.crc32(b"abc")),
    "another name in its own header": lambda: one_file(deflated(b"abc"), 3).replace(b"x", b"y", 1),
    "a name outside in its own header": lambda: one_file(deflated(b"abc"), 3).replace(
        b"\x01\x00\x00\x00x", b"\x01\x00\x00\x00/", 1
    ),
    "an own header that is longer than the file": lambda: one_file(deflated(b"abc"), 3, crc=zlib.crc32(b"abc")).replace(
        b"\x01\x00\x00\x00x", b"\x01\x00\xff\xffx", 1
    ),
}


@pytest.mark.parametrize("make", CONTENTS.values(), ids=CONTENTS.keys())
async def test_a_hostile_content_is_refused_when_it_is_read(
    tmp_path: Path, make: Callable[[], bytes], honest: float
) -> None:
    data = make()
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert archive.namelist() == ["x"]  # the list is one that others read
    await check(tmp_path, data, honest, read=True)


async def test_an_archive_inside_is_never_opened(tmp_path: Path) -> None:
    store = ObjectStore.open(tmp_path.as_uri())
    inner = patched(PLAIN, 24, "<L", 2**31)
    await store.put("archive.zip", packed(("inner.zip", inner)))
    archive = await Archive.open(store, "archive.zip")
    assert [item.name for item in archive.entries] == ["inner.zip"]
    assert b"".join([part async for part in archive.read("inner.zip")]) == inner
