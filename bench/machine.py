"""Where a figure was measured: a number without its machine says nothing."""

import os
import platform
import subprocess
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Machine:
    """Cores that this process may use, the processor's name, the kernel, and the load when the measuring began."""

    cores: int
    processor: str
    system: str
    load: float

    def __str__(self) -> str:
        """One line."""
        return f"{self.cores} cores, {self.processor}, {self.system}, load {self.load:.2f} at the start"


def this_machine() -> Machine:
    """The machine we run on, now."""
    return Machine(
        cores=len(os.sched_getaffinity(0)),
        processor=processor_name(Path("/proc/cpuinfo")),
        system=f"{platform.system()} {platform.release()}, Python {platform.python_version()}",
        load=os.getloadavg()[0],
    )


def processor_name(cpuinfo: Path) -> str:
    """The first `model name` of a Linux cpuinfo; what Python knows where there is none."""
    try:
        lines = cpuinfo.read_text().splitlines()
    except OSError:
        lines = []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor() or platform.machine())


def commit(folder: Path) -> str:
    """The commit of a checkout, with `+` when files differ from it; `unknown` outside a checkout."""
    try:
        head = _git(folder, "rev-parse", "--short=12", "HEAD")
        changed = _git(folder, "status", "--porcelain", "--untracked-files=no")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return f"{head}+" if changed else head


def _git(folder: Path, *arguments: str) -> str:
    command = ("git", "-C", str(folder), *arguments)
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
