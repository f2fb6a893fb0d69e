"""The lines of shell before the archive: it is unpacked once, whole, and where nobody else may write."""

import os
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from steps.bundle.making import packed, with_head

PROGRAM = '#!/bin/sh\necho "$$ ${0%/*} $# $*" && cat "${0%/*}/_internal/data" && umask && exit 7\n'
"""Stands in the place of the step runner."""


def bundle(folder: Path, version: str = "1") -> Path:
    """A file whose program says how it was called."""
    tree = folder / f"tree{version}"
    (tree / "_internal").mkdir(parents=True)
    (tree / "_internal/data").write_text(f"version {version}\n")
    (tree / "_internal/link").symlink_to("data")
    (tree / "start").write_text(PROGRAM)
    (tree / "start").chmod(0o755)
    made = folder / f"made {version}"
    made.write_bytes(with_head(packed(tree)))
    made.chmod(0o755)
    return made


def start(made: Path, *words: str, shell: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
    """Start it."""
    command = [*shell.split(), str(made), *words]
    env = {"PATH": os.environ["PATH"], **environment}
    return subprocess.run(command, env=env, capture_output=True, text=True, check=False, umask=0o022)


def unpacked(cache: Path) -> list[str]:
    """What is in a cache."""
    return sorted(path.name for path in cache.iterdir())


@pytest.fixture
def made(tmp_path: Path) -> Path:
    return bundle(tmp_path)


@pytest.mark.parametrize("shell", ["", "sh", "bash", "bash --posix", "busybox sh"])
def test_it_passes_on_words_and_status(made: Path, tmp_path: Path, shell: str) -> None:
    if shell and not shutil.which(shell.split()[0]):
        pytest.skip(f"not run: {shell}")
    cache = tmp_path / "home/.cache/perdure/step-runner"
    for _ in range(2):
        done = start(made, "a b", "", "$c", shell=shell, HOME=str(tmp_path / "home"))
        assert (done.returncode, done.stderr) == (7, "")
        (name,) = unpacked(cache)
        said, data, umask = done.stdout.splitlines()
        assert said.split(" ", 1)[1] == f"{cache / name} 3 a b  $c"
        assert (data, umask) == ("version 1", "0022"), "the umask is that of before"
    assert cache.stat().st_mode & 0o777 == 0o700


def test_it_becomes_the_program(made: Path, tmp_path: Path) -> None:
    """Whoever kills what they have started kills the step runner."""
    with subprocess.Popen([str(made)], env={"PATH": os.environ["PATH"], "HOME": str(tmp_path)},
        stdout=subprocess.PIPE, text=True) as process:  # fmt: skip
        assert process.stdout is not None
        assert process.stdout.readline().split()[0] == str(process.pid)


@pytest.mark.parametrize(
    ("environment", "place"),
    [
        ({"PERDURE_STEP_RUNNER_CACHE": "named", "XDG_CACHE_HOME": "xdg", "HOME": "home"}, "named"),
        ({"XDG_CACHE_HOME": "xdg", "HOME": "home"}, "xdg/perdure/step-runner"),
        ({"HOME": "home"}, "home/.cache/perdure/step-runner"),
        ({"HOME": "file"}, f"tmp/perdure-step-runner-{os.getuid()}"),
        ({"HOME": "link"}, f"tmp/perdure-step-runner-{os.getuid()}"),
        ({}, f"tmp/perdure-step-runner-{os.getuid()}"),
    ],
)
def test_where_it_unpacks(made: Path, tmp_path: Path, environment: dict[str, str], place: str) -> None:
    """In the place of a folder there may be a file, or a link that somebody else has put there."""
    (tmp_path / "tmp").mkdir()
    (tmp_path / "file").touch()
    (tmp_path / "link/.cache/perdure").mkdir(parents=True)
    (tmp_path / "link/.cache/perdure/step-runner").symlink_to(tmp_path / "tmp")
    named = {name: str(tmp_path / value) for name, value in environment.items()}
    assert start(made, TMPDIR=str(tmp_path / "tmp"), **named).returncode == 7
    assert len(unpacked(tmp_path / place)) == 1
    found = {path.parent.parent for path in tmp_path.rglob("start") if "tree" not in str(path)}
    assert found == {tmp_path / place}


@pytest.mark.skipif(os.getuid() != 0, reason="not run: another user is needed")
def test_it_runs_nothing_that_somebody_else_has_put_there(made: Path, tmp_path: Path) -> None:
    start(made, HOME=str(tmp_path / "home"))
    cache = tmp_path / "home/.cache/perdure/step-runner"
    (name,) = unpacked(cache)
    theirs = tmp_path / f"tmp/perdure-step-runner-{os.getuid()}"
    shutil.copytree(cache, theirs)
    for path in (theirs, *theirs.rglob("*")):
        os.chown(path, 1, 1, follow_symlinks=False)
    done = start(made, TMPDIR=str(tmp_path / "tmp"))
    assert done.returncode == 1
    assert done.stderr.startswith("Error: there is no folder in which this user may unpack and run the step runner")
    assert name in unpacked(theirs)


def test_versions_are_beside_each_other(made: Path, tmp_path: Path) -> None:
    other = bundle(tmp_path, "2")
    for one, version in ((made, "1"), (other, "2"), (made, "1")):
        assert f"version {version}" in start(one, HOME=str(tmp_path)).stdout
    assert len(unpacked(tmp_path / ".cache/perdure/step-runner")) == 2


def test_many_at_once_leave_one(made: Path, tmp_path: Path) -> None:
    with ThreadPoolExecutor(20) as pool:
        done = list(pool.map(lambda _: start(made, HOME=str(tmp_path)), range(20)))
    assert [(one.returncode, one.stderr) for one in done] == [(7, "")] * 20
    cache = tmp_path / ".cache/perdure/step-runner"
    (name,) = unpacked(cache)
    assert unpacked(cache / name) == ["_internal", "start"]


def test_one_that_is_cut_short_leaves_nothing(made: Path, tmp_path: Path) -> None:
    made.write_bytes(made.read_bytes()[:-100])
    done = start(made, HOME=str(tmp_path))
    assert done.returncode == 1
    assert "Error: the step runner cannot be unpacked into" in done.stderr
    assert unpacked(tmp_path / ".cache/perdure/step-runner") == []


def test_what_died_while_it_unpacked_is_no_hindrance(made: Path, tmp_path: Path) -> None:
    cache = tmp_path / ".cache/perdure/step-runner"
    for name, age in ((".draft-old", 7200), (".draft-new", 60)):
        (cache / name).mkdir(parents=True)
        then = (cache / name).stat().st_mtime - age
        os.utime(cache / name, (then, then))
    assert start(made, HOME=str(tmp_path)).returncode == 7
    assert [name for name in unpacked(cache) if name.startswith(".draft")] == [".draft-new"]


def test_the_same_files_are_the_same_bundle(tmp_path: Path) -> None:
    assert bundle(tmp_path / "a").read_bytes() == bundle(tmp_path / "b").read_bytes()
