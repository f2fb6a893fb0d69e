"""The user of this machine that jobs run as, where it is another one than the runner's own."""

import grp
import os
import pwd
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from domain.errors import NotFound, Refused
from fleet.executors.rights import Launch


@dataclass(frozen=True, slots=True)
class JobUser:
    """A user, not root; whoever runs jobs as it is root."""

    name: str
    uid: int
    gid: int
    groups: tuple[int, ...]
    home: Path
    shell: str

    @classmethod
    def named(cls, name: str) -> Self:
        """The user with this name. Raises NotFound, or Refused for one that jobs cannot run as."""
        try:
            found = pwd.getpwnam(name)
        except KeyError:
            raise NotFound(f"There is no user {name!r} on this machine that jobs could run as.") from None
        if found.pw_uid == 0:
            raise Refused(f"Jobs do not run as {name!r}: it is root. Name another user.")
        if os.geteuid() != 0:
            raise Refused(f"Only root can run jobs as {name!r}; leave the user away, or start the runner as root.")
        groups = {group.gr_gid for group in grp.getgrall() if name in group.gr_mem}
        home = Path(found.pw_dir)
        return cls(name, found.pw_uid, found.pw_gid, tuple(sorted(groups)), home, found.pw_shell or "/bin/sh")

    def environment(self) -> Mapping[str, str]:
        """What a process of the user has in its environment beside what it inherits."""
        return {"HOME": str(self.home), "USER": self.name, "LOGNAME": self.name, "SHELL": self.shell}

    def launch(self, arguments: Sequence[str], environment: Mapping[str, str]) -> AbstractContextManager[Launch]:
        """The same as a process of the user."""
        options = {"user": self.uid, "group": self.gid, "extra_groups": self.groups}
        return nullcontext(Launch(arguments, environment, options))

    def take(self) -> None:
        """Give the rights of this process up, for good."""
        os.setgroups(self.groups)
        os.setresgid(self.gid, self.gid, self.gid)
        os.setresuid(self.uid, self.uid, self.uid)
        os.umask(0o022)
