"""What is on disk, and under which name, when a small file was written."""

import ast
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from auth import encryption
from auth.keys import Algorithm, SigningKey
from files import durable

ROOT = Path(__file__).resolve().parent.parent.parent
SYNCING = {
    "files/durable.py",
    "storage/durable_file.py",  # objects of the store, part by part
    "storage/backup_archive.py",  # an archive, part by part
    "cli/remote/download.py",  # a download that is gone on with
}
"""Who calls `fsync`: whoever writes a small file does it by `files.durable`."""
Log = list[tuple[str, int]]


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch) -> Log:
    """What was done, in order: ("sync", inode) and ("name", inode of the file that got a name)."""
    done: Log = []
    fsync, link, replace = os.fsync, os.link, Path.replace

    def noted_fsync(descriptor: int) -> None:
        fsync(descriptor)
        done.append(("sync", os.fstat(descriptor).st_ino))

    def noted_link(source: Path, target: Path) -> None:
        link(source, target)
        done.append(("name", Path(target).stat().st_ino))

    def noted_replace(source: Path, target: Path) -> Path:
        result = replace(source, target)
        done.append(("name", Path(target).stat().st_ino))
        return result

    monkeypatch.setattr(os, "fsync", noted_fsync)
    monkeypatch.setattr(os, "link", noted_link)
    monkeypatch.setattr(Path, "replace", noted_replace)
    return done


def on_disk(log: Log, path: Path) -> bool:
    """Whether the content was on disk before it had its name, and its name before anybody relied on it."""
    file, folder = path.stat().st_ino, path.parent.stat().st_ino
    named = log.index(("name", file))
    return ("sync", file) in log[:named] and ("sync", folder) in log[named:]


@pytest.mark.parametrize(
    "write",
    [
        lambda path: durable.replace(path, b"x"),
        lambda path: durable.create(path, b"x"),
        lambda path: SigningKey.new(Algorithm.EDDSA).write(path),
        lambda path: encryption._from_file(path),
    ],
    ids=["replaced", "created", "signing key", "sealing key"],
)
def test_content_and_name_are_on_disk(tmp_path: Path, log: Log, write: Callable[[Path], object]) -> None:
    path = tmp_path / "file"
    write(path)
    assert on_disk(log, path)
    assert path.stat().st_mode & 0o777 == 0o600
    assert [*tmp_path.iterdir()] == [path]


def test_folders_that_were_made_for_it_are_on_disk_too(tmp_path: Path, log: Log) -> None:
    assert durable.create(tmp_path / "home" / "keys" / "key", b"x")
    synced = {inode for what, inode in log if what == "sync"}
    assert {folder.stat().st_ino for folder in (tmp_path, tmp_path / "home", tmp_path / "home/keys")} <= synced


def test_a_file_that_is_there_stays_and_is_on_disk_all_the_same(tmp_path: Path, log: Log) -> None:
    path = tmp_path / "file"
    assert durable.create(path, b"first")
    log.clear()
    assert not durable.create(path, b"second")
    assert path.read_bytes() == b"first"
    assert ("sync", tmp_path.stat().st_ino) in log
    assert [*tmp_path.iterdir()] == [path]


def test_a_write_that_fails_leaves_the_old_file_and_no_draft(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    durable.replace(path, b"old")

    def full(_: int) -> None:
        raise OSError("no room")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="no room"):
        durable.replace(path, b"new")
    assert path.read_bytes() == b"old"
    assert [*tmp_path.iterdir()] == [path]


def test_nobody_else_syncs_by_himself() -> None:
    folders = [
        path for path in ROOT.iterdir() if (path / "__init__.py").exists() and path.name not in {"tests", "bench"}
    ]
    found = set()
    for file in (file for folder in folders for file in folder.rglob("*.py")):
        calls = (node for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.Call))
        if any(isinstance(call.func, ast.Attribute) and call.func.attr == "fsync" for call in calls):
            found.add(str(file.relative_to(ROOT)))
    assert found == SYNCING
