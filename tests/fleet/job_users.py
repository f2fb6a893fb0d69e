"""Another user for jobs, and a place that this user can reach."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from fleet.executors.job_user import JobUser

OTHER = "nobody"
"""Every machine has this user; no test ends processes of it that it has not started."""

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root runs jobs as another user")


@contextmanager
def other_user() -> Iterator[JobUser]:
    """The user, with a home of its own outside of what only root can read."""
    user = JobUser.named(OTHER)
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:  # pytest's own folders are closed to others
        os.chown(folder, user.uid, user.gid)
        yield replace(user, home=Path(folder))
