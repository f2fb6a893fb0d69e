"""A `perdure` command with a home, free ports and a small process in place of the API."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from rigs.ports import free_port

STAND_IN = Path(__file__).parent / "stand_in"


class Perdure:
    """Runs `perdure ...` in a home of its own; Temporal counts as somebody else's."""

    def __init__(self, home: Path) -> None:
        """Choose ports."""
        self.home = home
        self.front_port = free_port()
        self.api_port = free_port()
        self.url = f"http://127.0.0.1:{self.front_port}"
        kept = {name: value for name, value in os.environ.items() if not name.startswith("PERDURE_")}
        self.env = kept | {
            "PERDURE_HOME": str(home),
            "PERDURE_FRONT_PORT": str(self.front_port),
            "PERDURE_API_PORT": str(self.api_port),
            "PERDURE_TEMPORAL_ADDRESS": "127.0.0.1:1",
            "PERDURE_UP_TIMEOUT": "30",
            "PERDURE_JOBS_AS": "server",
            "PYTHONPATH": str(STAND_IN),
        }

    def command(self, *words: str) -> list[str]:
        """The command line."""
        return [sys.executable, "-P", "-m", "cli.main", *words]

    def __call__(self, *words: str, **env: str) -> subprocess.CompletedProcess[str]:
        """Run to the end and return what it printed."""
        return subprocess.run(
            self.command(*words), env=self.env | env, capture_output=True, text=True, timeout=60, check=False
        )


@pytest.fixture
def perdure(tmp_path: Path) -> Iterator[Perdure]:
    """A command; whatever it started is stopped afterwards."""
    command = Perdure(tmp_path / "home")
    yield command
    if command.home.exists():
        stopped = command("down", "--all")
        assert stopped.returncode == 0, stopped.stderr
