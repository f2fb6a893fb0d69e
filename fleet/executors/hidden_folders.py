"""Jobs of the runner's own user, in namespaces where folders are hidden from them and processes of others, too."""

import os
import pwd
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fleet.executors import namespaces

_SCRIPT = (sys.executable, "-I", "-S", str(namespaces.__file__))


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

    def process_options(self) -> Mapping[str, Any]:
        """Nothing more."""
        return {}

    def command(self, arguments: Sequence[str]) -> Sequence[str]:
        """The same in namespaces of its own."""
        places = [word for path in self._hidden() for word in ("--hide", path)]
        places += [word for path in self.shown for word in ("--show", str(path))]
        return [*_SCRIPT, *places, "--", *arguments]

    def take(self) -> None:
        """Enter such namespaces. Raises OSError where the kernel does not let us."""
        for path in self.shown:
            path.mkdir(parents=True, exist_ok=True)
        namespaces.hide(self._hidden(), [str(path) for path in self.shown])
        namespaces.lock()
        os.chdir("/")

    def _hidden(self) -> list[str]:
        return [str(path) for path in self.hidden if path.is_dir()]
