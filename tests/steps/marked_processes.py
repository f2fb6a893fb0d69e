"""Processes of runs, wherever they are, as the machine has them."""

from pathlib import Path

import psutil

from steps.engine.run_process import MARK


def marked(folder: Path) -> list[psutil.Process]:
    """Living processes of the run in a folder, or of all runs below it; `info` has the name of each.

    A process may be gone before anybody asks it for more.
    """
    found = []
    for process in psutil.process_iter(["name"]):
        try:
            mark = process.environ().get(MARK)
            if mark and Path(mark).is_relative_to(folder) and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
        except psutil.Error:
            continue
    return found
