"""A runner of other make is installed once, however many processes of tests want it at the same time."""

import multiprocessing
from multiprocessing.synchronize import Barrier
from pathlib import Path

from tests.foreign.installing import install_once

PROCESSES = 4


def test_processes_that_want_the_same_folder_fill_it_once(tmp_path: Path) -> None:
    home, count = tmp_path / "venvs" / "runner", tmp_path / "count"
    fill = f"mkdir {home}; for i in $(seq 1000); do : > {home}/$i; done; echo filled >> {count}"
    spawn = multiprocessing.get_context("spawn")
    all_started = spawn.Barrier(PROCESSES)
    processes = [spawn.Process(target=_install, args=(all_started, home, fill)) for _ in range(PROCESSES)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0] * PROCESSES
    assert count.read_text() == "filled\n"


def _install(all_started: Barrier, home: Path, fill: str) -> None:
    all_started.wait()
    install_once(home, "version 1", ("sh", "-ec", fill))


def test_another_version_takes_the_place_of_the_first(tmp_path: Path) -> None:
    home = tmp_path / "runner"
    for version in ("one", "two", "two"):
        install_once(home, version, ("mkdir", home), ("sh", "-c", f"echo {version} >> {tmp_path}/all"))
    assert (tmp_path / "all").read_text() == "one\ntwo\n"
