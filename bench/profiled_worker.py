"""Our process under a profiler: `python -m bench.profiled_worker FOLDER` instead of `python -m worker`.

It leaves two files: `main.prof` (cProfile of the main thread, where the event loop, the API and the activities run) and
`threads.json` (processor seconds by thread, those of libraries without a Python name included). The profiler makes
everything slower: shares are right, speeds are not.
"""

import cProfile
import json
import os
import signal
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import worker


def threads() -> Iterator[tuple[str, float]]:
    """Name and processor seconds of every thread of this process."""
    names = {thread.native_id: thread.name for thread in threading.enumerate()}
    tick = os.sysconf("SC_CLK_TCK")
    for task in Path("/proc/self/task").iterdir():
        name, _, rest = task.joinpath("stat").read_text().partition("(")[2].rpartition(")")
        fields = rest.split()
        yield names.get(int(task.name), name), (int(fields[11]) + int(fields[12])) / tick


def main() -> None:
    """Run the process; SIGUSR1 begins the profile, SIGUSR2 writes it."""
    folder = Path(sys.argv[1])
    profile = cProfile.Profile()
    before: list[tuple[str, float]] = []

    def begin(*_: object) -> None:
        before[:] = threads()
        profile.enable()

    def write(*_: object) -> None:
        profile.disable()
        profile.dump_stats(folder / "main.prof")
        folder.joinpath("threads.json").write_text(json.dumps({"before": before, "after": list(threads())}))

    signal.signal(signal.SIGUSR1, begin)
    signal.signal(signal.SIGUSR2, write)
    sys.argv = sys.argv[:1]
    worker.main()


if __name__ == "__main__":
    main()
