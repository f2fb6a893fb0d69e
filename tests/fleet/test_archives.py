"""Archives: what comes back is what went in, and nothing goes where it must not."""

import gzip
import stat
import zipfile
from pathlib import Path

import pytest

from domain.errors import Invalid
from fleet.archives import pack_gzip, pack_zip, real_file, unpack_zip


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    root.mkdir()
    return root


def hostile(file: Path, name: str, content: bytes = b"x", mode: int = stat.S_IFREG | 0o644) -> Path:
    with zipfile.ZipFile(file, "w") as archive:
        info = zipfile.ZipInfo(name)
        info.create_system = 3
        info.external_attr = mode << 16
        archive.writestr(info, content)
    return file


def test_round_trip(tmp_path: Path, root: Path) -> None:
    (root / "bin").mkdir()
    (root / "bin/tool").write_bytes(b"#!/bin/sh\n")
    (root / "bin/tool").chmod(0o755)
    (root / "link").symlink_to("bin/tool")
    (root / "empty").touch()
    (root / "none").mkdir(0o700)
    pack_zip(root, ["bin/tool", "link", "empty", "none/"], tmp_path / "a.zip")
    other = tmp_path / "other"
    other.mkdir()
    (other / "empty").write_text("is replaced")
    assert unpack_zip(tmp_path / "a.zip", other) == []
    assert (other / "bin/tool").stat().st_mode & 0o777 == 0o755
    assert (other / "link").readlink() == Path("bin/tool")
    assert (other / "empty").read_text() == ""
    assert list((other / "none").iterdir()) == []


@pytest.mark.parametrize("name", ["../evil", "/etc/evil", "a/../../evil", "..\\evil", "C:evil"])
def test_paths_that_lead_out_are_refused(tmp_path: Path, root: Path, name: str) -> None:
    with pytest.raises(Invalid, match="nothing was unpacked"):
        unpack_zip(hostile(tmp_path / "a.zip", name), root)
    assert list(root.iterdir()) == []
    assert not (tmp_path / "evil").exists()


def test_nothing_is_written_through_a_link_that_is_there(tmp_path: Path, root: Path) -> None:
    (tmp_path / "outside").mkdir()
    (root / "out").symlink_to(tmp_path / "outside")
    with pytest.raises(Invalid, match="through a link"):
        unpack_zip(hostile(tmp_path / "a.zip", "out/evil"), root)
    assert list((tmp_path / "outside").iterdir()) == []


def test_a_link_in_place_of_a_file_is_replaced(tmp_path: Path, root: Path) -> None:
    (tmp_path / "outside.txt").write_text("mine")
    (root / "file").symlink_to(tmp_path / "outside.txt")
    unpack_zip(hostile(tmp_path / "a.zip", "file", b"new"), root)
    assert (tmp_path / "outside.txt").read_text() == "mine"
    assert (root / "file").read_text() == "new"


def test_links_that_lead_out_are_left_out(tmp_path: Path, root: Path) -> None:
    archive = hostile(tmp_path / "a.zip", "link", b"/etc/passwd", stat.S_IFLNK | 0o777)
    assert unpack_zip(archive, root) == ["link"]
    assert not (root / "link").is_symlink()


def links(file: Path, *pairs: tuple[str, str]) -> Path:
    """An archive of symbolic links: names, and where they lead to."""
    with zipfile.ZipFile(file, "w") as archive:
        for name, target in pairs:
            info = zipfile.ZipInfo(name)
            info.create_system, info.external_attr = 3, (stat.S_IFLNK | 0o777) << 16
            archive.writestr(info, target)
    return file


@pytest.mark.parametrize(
    ("pairs", "left_out"),
    [
        ([("a", "b"), ("b", "dir/c"), ("dir/c", "../file")], []),
        ([("node_modules/.bin/x", "../x.js"), ("lib.so", "lib.so.1"), ("self", "self"), ("here", ".")], []),
        ([("up", ".."), ("ok", "file")], ["up"]),
        ([("out", "s/up/../x"), ("s/up", "..")], ["out"]),
        ([("long", "x" * 5000), ("nul", "a\0b"), ("none", ""), ("ok", "file")], ["long", "nul", "none"]),
        ([("/".join(["d"] * 30), "../" * 40)], ["/".join(["d"] * 30)]),
    ],
)
def test_links_that_stay_inside_are_made(
    tmp_path: Path, root: Path, pairs: list[tuple[str, str]], left_out: list[str]
) -> None:
    assert unpack_zip(links(tmp_path / "a.zip", *pairs), root) == left_out
    made = {name: str((root / name).readlink()) for name, _ in pairs if (root / name).is_symlink()}
    assert made == {name: target for name, target in pairs if name not in left_out}


def test_a_second_archive_cannot_be_written_through_links_of_the_first(tmp_path: Path, root: Path) -> None:
    (root / "inside").mkdir()
    assert unpack_zip(links(tmp_path / "a.zip", ("way", "inside"), ("out", "way/../../x")), root) == ["out"]
    unpack_zip(hostile(tmp_path / "b.zip", "way/file"), root)
    assert (root / "inside/file").read_text() == "x"
    unpack_zip(hostile(tmp_path / "c.zip", "out/file"), root)
    assert not (tmp_path / "x").exists()


def test_a_link_of_the_archive_cannot_carry_its_files_out(tmp_path: Path, root: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        link = zipfile.ZipInfo("dir")
        link.create_system = 3
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(link, str(tmp_path))
        archive.writestr("dir/evil", "x")
    assert unpack_zip(tmp_path / "a.zip", root) == ["dir"]
    assert (root / "dir/evil").exists()
    assert not (tmp_path / "evil").exists()


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA])
def test_a_damaged_entry_is_a_clear_error(tmp_path: Path, root: Path, method: int) -> None:
    archive = tmp_path / "a.zip"
    with zipfile.ZipFile(archive, "w", method) as made:
        made.writestr("file", bytes(range(256)) * 50)
    content = bytearray(archive.read_bytes())
    content[40:60] = b"\xff" * 20
    archive.write_bytes(content)
    with pytest.raises(Invalid, match="the archive cannot be read"):
        unpack_zip(archive, root)


def test_an_encrypted_entry_is_a_clear_error(tmp_path: Path, root: Path) -> None:
    archive = hostile(tmp_path / "a.zip", "file", b"secret")
    content = bytearray(archive.read_bytes())
    for flags in (6, content.index(b"PK\x01\x02") + 8):  # of the entry, and of the directory's row for it
        content[flags] |= 1
    archive.write_bytes(content)
    with pytest.raises(Invalid, match="the archive cannot be read"):
        unpack_zip(archive, root)


def test_setuid_is_not_restored(tmp_path: Path, root: Path) -> None:
    unpack_zip(hostile(tmp_path / "a.zip", "tool", mode=stat.S_IFREG | stat.S_ISUID | 0o755), root)
    assert (root / "tool").stat().st_mode & 0o7777 == 0o755


def test_not_a_zip(tmp_path: Path, root: Path) -> None:
    (tmp_path / "a.zip").write_bytes(b"<html>")
    with pytest.raises(Invalid, match="cannot be read"):
        unpack_zip(tmp_path / "a.zip", root)


def test_gzip_holds_every_file(tmp_path: Path, root: Path) -> None:
    (root / "a.xml").write_text("<a/>")
    (root / "b.xml").write_text("<b/>")
    pack_gzip(root, ["a.xml", "b.xml"], tmp_path / "r.gz")
    assert gzip.decompress((tmp_path / "r.gz").read_bytes()) == b"<a/><b/>"


def test_reports_do_not_follow_links_out(tmp_path: Path, root: Path) -> None:
    (tmp_path / "secret").write_text("x")
    (root / "report.xml").symlink_to(tmp_path / "secret")
    with pytest.raises(Invalid, match="inside the project"):
        real_file(root, "report.xml")
