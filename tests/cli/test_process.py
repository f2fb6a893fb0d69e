"""How the process of a command ends."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """\
import atexit, sys
{imports}
from cli.main import process
atexit.register(print, "the interpreter takes itself down")
sys.argv = ["perdure", {word!r}]
process()
"""


def ran(word: str, imports: str = "") -> subprocess.CompletedProcess[str]:
    """A command in a process of its own."""
    script = SCRIPT.format(word=word, imports=imports)
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)


@pytest.mark.parametrize(("word", "code"), [("--version", 0), ("nothing", 2)])
def test_beside_threads_of_temporal_it_ends_at_once_with_its_status_and_all_that_it_said(word: str, code: int) -> None:
    done, usual = ran(word, "import temporalio"), ran(word)
    assert (done.returncode, usual.returncode) == (code, code)
    assert (done.stdout + "the interpreter takes itself down\n", done.stderr) == (usual.stdout, usual.stderr)
    assert done.stdout or done.stderr


def test_options_before_the_command_reach_it_however_the_program_is_started(tmp_path: Path) -> None:
    """`python -m cli.main` is a module of another name than the one that commands import."""
    argv = [sys.executable, "-m", "cli.main", "--pod", "nobody", "keys", "list"]
    environment = {**os.environ, "PERDURE_HOME": str(tmp_path)}
    done = subprocess.run(argv, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode != 0, done.stdout) == (True, "")
    assert "There is no pod nobody" in done.stderr
