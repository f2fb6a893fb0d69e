"""How the process of a command ends."""

import subprocess
import sys

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
