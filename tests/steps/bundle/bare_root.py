"""A root with busybox and the C library alone, in which a bundle is started."""

import asyncio
import contextlib
import os
import shutil
import stat
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import psutil

from tests.e2e.images import needed

_LIBRARY: Final = ("ld-linux", "libc.so", "libm.so", "libdl.so", "libpthread.so", "librt.so", "libutil.so")
"""How the files of the C library begin."""
_ENTER: Final = 'mount -t proc proc "$0/proc" && exec chroot "$0" "$@"'
"""In a mount namespace of its own, so that no mount is left behind; it becomes what it starts."""
_FOLDERS: Final = ("bin", "dev", "proc", "root", "run", "tmp", "var/lib", "work")
_DEVICES: Final = {"null": 3, "zero": 5, "urandom": 9}


@dataclass(frozen=True)
class BareRoot:
    """It, with the bundle as `/step-runner`."""

    path: Path

    def command(self, *words: str) -> list[str]:
        """The words that run something in there."""
        return ["unshare", "--mount", "sh", "-c", _ENTER, str(self.path), *words]

    def call(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run something there to its end."""
        env = self.environment()
        return subprocess.run(self.command(*words), env=env, capture_output=True, text=True, check=False)

    def environment(self, **more: str) -> dict[str, str]:
        """What a process finds there, and on the way there."""
        return {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", **more}

    def processes(self) -> list[psutil.Process]:
        """All that run in there."""
        found = []
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error, OSError):
                if Path(f"/proc/{process.pid}/root").readlink() == self.path:
                    found.append(process)
        return found

    async def serve(self, **environment: str) -> asyncio.subprocess.Process:
        """Start the service; it listens when this returns."""
        process = await asyncio.create_subprocess_exec(
            *self.command("/step-runner", "serve"), env=self.environment(**environment), stderr=asyncio.subprocess.PIPE
        )
        assert process.stderr is not None
        said = await process.stderr.readline()
        assert b"is listening on socket /run/perdure/step-runner.sock" in said, said + await process.stderr.read()
        return process


def bare_root(path: Path, bundle: Path) -> BareRoot:
    """Make one. Only root can, as where the slow tests run."""
    for folder in _FOLDERS:
        (path / folder).mkdir(parents=True)
    busybox = path / "bin/busybox"
    shutil.copy(needed("busybox"), busybox)
    for name in subprocess.run([busybox, "--list"], capture_output=True, text=True, check=True).stdout.split():
        if name != "busybox":
            (path / "bin" / name).symlink_to("busybox")
    for library in _library():
        (path / library.parent.relative_to("/")).mkdir(parents=True, exist_ok=True)
        shutil.copy(library, path / library.relative_to("/"))
    for name, minor in _DEVICES.items():
        os.mknod(path / "dev" / name, 0o666 | stat.S_IFCHR, os.makedev(1, minor))
        (path / "dev" / name).chmod(0o666)
    shutil.copy(bundle, path / "step-runner")
    return BareRoot(path)


def _library() -> list[Path]:
    """The files of the C library, at the places at which programs look for them."""
    cache = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True, check=True).stdout
    found = {Path(line.rpartition("=> ")[2]) for line in cache.splitlines() if line.strip().startswith(_LIBRARY)}
    loader = next(Path("/lib64").glob("ld-linux-*"), None) or next(Path("/lib").glob("ld-linux-*"))
    return [loader, *found]
