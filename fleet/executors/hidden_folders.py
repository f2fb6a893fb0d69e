"""Jobs of the runner's own user, in namespaces where folders are hidden from them and processes of others, too."""

import os
import pwd
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from fleet.executors import namespaces
from fleet.executors.rights import Launch

_OWN: Final = ("LD_LIBRARY_PATH",)
"""What an interpreter may need to start."""
_SCRIPT: Final = (sys.executable, "-I", "-S", str(namespaces.__file__))


@dataclass(frozen=True, slots=True)
class HiddenFolders:
    """`hidden` are empty for jobs, but for those of their own folders (`shown`) that lie within."""

    hidden: tuple[Path, ...]
    shown: tuple[Path, ...]

    @property
    def name(self) -> str:
        """The runner's user."""
        try:
            return pwd.getpwuid(self.uid).pw_name
        except KeyError:
            return str(self.uid)

    @property
    def uid(self) -> int:
        """The runner's user."""
        return os.geteuid()

    def environment(self) -> Mapping[str, str]:
        """Nothing more."""
        return {}

    @contextmanager
    def launch(self, arguments: Sequence[str], environment: Mapping[str, str]) -> Iterator[Launch]:
        """The same in namespaces of its own.

        Whoever wrote the job chose its environment: what makes the namespaces does not have it, or `LD_PRELOAD` would
        do as it likes before anything is hidden.
        """
        places = [word for path in self._hidden() for word in ("--hide", path)]
        places += [word for path in self.shown for word in ("--show", str(path))]
        fd = os.memfd_create("environment")
        try:
            with os.fdopen(os.dup(fd), "wb") as out:
                out.write(b"".join(os.fsencode(f"{name}={value}") + b"\0" for name, value in environment.items()))
            os.lseek(fd, 0, os.SEEK_SET)
            words = [*_SCRIPT, *places, "--environment", str(fd), "--", *arguments]
            own = {name: os.environ[name] for name in _OWN if name in os.environ}
            yield Launch(words, own, {"pass_fds": (fd,)})
        finally:
            os.close(fd)

    def take(self) -> None:
        """Enter such namespaces. Raises OSError where the kernel does not let us."""
        for path in self.shown:
            path.mkdir(parents=True, exist_ok=True)
        namespaces.hide(self._hidden(), [str(path) for path in self.shown])
        namespaces.lock()
        os.chdir("/")

    def _hidden(self) -> list[str]:
        return [str(path) for path in self.hidden if path.is_dir()]
