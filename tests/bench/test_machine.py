"""Names of machines and commits."""

import subprocess
from pathlib import Path

from bench.machine import commit, processor_name, this_machine


def test_the_processor_is_the_first_model_name(tmp_path: Path) -> None:
    cpuinfo = tmp_path / "cpuinfo"
    cpuinfo.write_text("processor\t: 0\nmodel name\t: Fast One\nflags\t: a b\n\nprocessor\t: 1\nmodel name\t: Other\n")
    assert processor_name(cpuinfo) == "Fast One"


def test_a_machine_without_cpuinfo_still_has_a_name(tmp_path: Path) -> None:
    assert processor_name(tmp_path / "absent")


def test_this_machine_says_how_many_cores_it_has() -> None:
    machine = this_machine()
    assert machine.cores >= 1
    assert f"{machine.cores} cores" in str(machine)


def test_a_commit_with_changed_files_has_a_plus(tmp_path: Path) -> None:
    def git(*arguments: str) -> str:
        identity = ("-c", "user.name=a", "-c", "user.email=a@example.com")
        done = subprocess.run(
            ("git", "-C", str(tmp_path), *identity, *arguments), check=True, capture_output=True, text=True
        )
        return done.stdout.strip()

    assert commit(tmp_path) == "unknown"
    git("init", "--quiet")
    (tmp_path / "file").write_text("one")
    git("add", ".")
    git("commit", "--quiet", "--message=first")
    head = git("rev-parse", "--short=12", "HEAD")
    assert commit(tmp_path) == head
    (tmp_path / "file").write_text("two")
    assert commit(tmp_path) == f"{head}+"
