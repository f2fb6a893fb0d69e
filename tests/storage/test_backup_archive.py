"""The file of a backup: it comes back as it was, or is refused; there is nothing in between."""

import hashlib
import random
import tarfile
import time
from pathlib import Path
from typing import Any

import pytest

from domain.errors import Invalid, NotFound
from storage import backup_archive
from storage.backup_archive import MANIFEST, SUMS, ArchiveWriter, members, verified_manifest

CONTENT = {
    "database/perdure.db": random.Random(1).randbytes(300_000),
    "repositories/1/refs.json": b"{}",
    "objects/empty": b"",
    "home/keys/" + "k" * 150: b"a long name",
}


def written(path: Path, content: dict[str, bytes] = CONTENT) -> dict[str, Any]:
    """A file with this content; its manifest."""
    with ArchiveWriter(path) as archive:
        for name, data in content.items():
            archive.add(name, data)
        return archive.finish({"of": "tests"})


@pytest.fixture(params=[".tar.zst", ".tar.gz"])
def file(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A path for a file."""
    return tmp_path / f"kept{request.param}"


def test_what_was_written_is_read_again_and_only_we_can_read_it(file: Path) -> None:
    manifest = written(file)
    assert verified_manifest(file) == manifest
    assert (manifest["members"], manifest["bytes"]) == (4, sum(map(len, CONTENT.values())))
    found = {member.name: member.read() for member in members(file)}
    sums = found.pop(SUMS).decode().splitlines()
    del found[MANIFEST]
    assert found == CONTENT
    assert list(found) == list(CONTENT)
    assert sums == [f"{hashlib.sha256(data).hexdigest()}  {name}" for name, data in CONTENT.items()]
    assert file.stat().st_mode & 0o777 == 0o600
    assert [path.name for path in file.parent.iterdir()] == [file.name]


def test_a_byte_that_is_another_one_is_found_wherever_it_is(file: Path) -> None:
    written(file)
    whole = file.read_bytes()
    places = random.Random(2)
    for place in [8, len(whole) - 200, *(places.randrange(10, len(whole) - 10) for _ in range(40))]:
        damaged = bytearray(whole)
        damaged[place] ^= 0x10
        file.write_bytes(damaged)
        try:
            found = verified_manifest(file)
        except Invalid:
            continue
        # A few bits mean nothing: in the header of gzip, or where zstd copies zeros from.
        assert found == verified_manifest_of(file, whole), place


def verified_manifest_of(file: Path, content: bytes) -> dict[str, Any]:
    """The manifest of other bytes."""
    other = file.with_name(f"other-{file.name}")
    other.write_bytes(content)
    return verified_manifest(other)


def test_a_file_that_ends_too_early_is_refused_wherever_it_ends(file: Path) -> None:
    written(file)
    whole = file.read_bytes()
    for length in [0, 1, 5, 600, *range(1_000, len(whole) - 30, len(whole) // 25)]:
        file.write_bytes(whole[:length])
        with pytest.raises(Invalid, match=r"damaged|not whole|no backup"):
            verified_manifest(file)


def test_a_member_that_was_exchanged_is_named(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Lying(ArchiveWriter):
        def add(self, name: str, content: bytes) -> None:
            super().add(name, content)
            if name == "repositories/1/refs.json":
                self._sums.seek(-30, 1)
                self._sums.write(b"x")
                self._sums.seek(0, 2)

    monkeypatch.setattr("tests.storage.test_backup_archive.ArchiveWriter", Lying)
    written(file)
    with pytest.raises(Invalid, match=r"repositories/1/re"):
        verified_manifest(file)


def test_nothing_is_left_of_a_file_that_was_not_finished(file: Path) -> None:
    with pytest.raises(ZeroDivisionError), ArchiveWriter(file) as archive:
        archive.add("a", bytes(1 // len(archive.path.suffix[9:])))
    assert list(file.parent.iterdir()) == []


def test_an_older_file_of_that_name_stays_until_the_new_one_is_whole(file: Path) -> None:
    before = written(file)
    with pytest.raises(ZeroDivisionError), ArchiveWriter(file) as archive:
        archive.add("a", bytes(1 // len(archive.path.suffix[9:])))
    assert verified_manifest(file) == before


async def test_a_stream_must_be_as_long_as_was_said(file: Path) -> None:
    async def chunks() -> Any:
        yield b"12345"

    for size, words in ((4, "longer"), (6, "shorter")):
        with ArchiveWriter(file) as archive, pytest.raises(Invalid, match=words):
            await archive.add_stream("a", size, chunks())
    assert list(file.parent.iterdir()) == []


def test_a_newer_format_is_refused(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backup_archive, "FORMAT", 2)
    written(file)
    monkeypatch.setattr(backup_archive, "FORMAT", 1)
    with pytest.raises(Invalid, match="has format 2, and this Perdure reads up to 1"):
        verified_manifest(file)


def test_other_files_and_names_are_refused(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="There is no file"):
        verified_manifest(tmp_path / "none.tar.zst")
    (tmp_path / "text.tar.zst").write_text("no archive")
    with pytest.raises(Invalid, match="no backup of Perdure"):
        verified_manifest(tmp_path / "text.tar.zst")
    with pytest.raises(Invalid, match=r"must end with \.tar\.zst or \.tar\.gz"):
        ArchiveWriter(tmp_path / "kept.zip")


@pytest.mark.parametrize("name", ["a", "objects/projects/1/jobs/2/trace-0.log", "n" * 100, "n" * 101, "ä"])
@pytest.mark.parametrize("size", [0, 7, 8**11 - 1, 8**11])
def test_a_header_is_the_one_that_the_library_makes(name: str, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "time", lambda: 1_700_000_000.5)
    info = tarfile.TarInfo(name)
    info.size, info.mode, info.mtime = size, 0o600, 1_700_000_000
    assert backup_archive._header(name, size) == info.tobuf(tarfile.PAX_FORMAT)
