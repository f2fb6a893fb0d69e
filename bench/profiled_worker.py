"""Our process under a profiler: `python -m bench.profiled_worker FOLDER MODULE` instead of `python -m MODULE`.

SIGUSR1 begins the profile, SIGUSR2 writes two files: `main.prof` (cProfile of the main thread, where the event loop,
the API and the activities run) and `threads.json` (processor seconds by thread, those without a Python name included).
The profiler slows everything down: shares are right, speeds are not.
"""

import cProfile
import importlib
import json
import os
import signal
import sys
import threading
from collections import Counter
from pathlib import Path


def thread_seconds() -> Counter[str]:
    """Processor seconds of this process by the name of the thread; threads of one name count together."""
    names = {thread.native_id: thread.name for thread in threading.enumerate()}
    ticks = os.sysconf("SC_CLK_TCK")
    seconds: Counter[str] = Counter()
    for task in Path("/proc/self/task").iterdir():
        own_name, _, rest = task.joinpath("stat").read_text().partition("(")[2].rpartition(")")
        user, system = rest.split()[11:13]
        seconds[names.get(int(task.name), own_name)] += (int(user) + int(system)) / ticks  # type: ignore[assignment]
    return seconds


def main() -> None:
    """Run the process, ready to be profiled."""
    folder, module = Path(sys.argv.pop(1)), importlib.import_module(sys.argv.pop(1))
    profile = cProfile.Profile()
    before: Counter[str] = Counter()

    def begin(*_: object) -> None:
        before.update(thread_seconds())
        profile.enable()

    def write(*_: object) -> None:
        profile.disable()
        profile.dump_stats(folder / "main.prof")
        spent = thread_seconds()
        spent.subtract(before)
        (folder / "threads.json").write_text(json.dumps(spent))

    signal.signal(signal.SIGUSR1, begin)
    signal.signal(signal.SIGUSR2, write)
    module.main()


if __name__ == "__main__":
    main()
