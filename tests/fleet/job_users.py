"""Rights for jobs: another user with a place that they can reach; whether there are namespaces."""

import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from fleet.executors.hidden_folders import HiddenFolders
from fleet.executors.job_user import JobUser

OTHER = "nobody"
"""Every machine has this user; no test ends processes of it that it has not started."""


def _namespaces() -> bool:
    with HiddenFolders((), ()).launch(("/bin/true",), {}) as launch:
        return (
            subprocess.run(launch.arguments, stderr=subprocess.DEVNULL, check=False, **launch.options).returncode == 0
        )


needs_namespaces = pytest.mark.skipif(not _namespaces(), reason="this kernel gives no namespaces to everybody")
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root runs jobs as another user")


@contextmanager
def other_user() -> Iterator[JobUser]:
    """The user, with a home of its own outside of what only root can read."""
    user = JobUser.named(OTHER)
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:  # pytest's own folders are closed to others
        os.chown(folder, user.uid, user.gid)
        yield replace(user, home=Path(folder))
