"""Where commands print to."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from cli.remote import documents

SECRET_FIELDS = {"token", "password", "value"}
BY_THE_WAY = {"_show"}
"""Functions that print such a document without the secret."""
PRINT = "from cli.output import PLAIN, keep_private; keep_private(); PLAIN.data('glpat-x'); PLAIN.words('and words')"
COMMANDS = Path(__file__).parents[2] / "cli" / "remote"


@pytest.mark.parametrize("mode", [0o644, 0o666, 0o400])
def test_a_file_that_gets_a_secret_is_its_owners_alone(tmp_path: Path, mode: int) -> None:
    files = [tmp_path / name for name in ("out", "err")]
    for file in files:
        file.touch()
    out, err = (os.open(file, os.O_WRONLY) for file in files)
    for file in files:
        file.chmod(mode)
    subprocess.run([sys.executable, "-c", PRINT], stdout=out, stderr=err, check=True)
    os.close(out)
    os.close(err)
    assert [file.read_text() for file in files] == ["glpat-x\n", "and words\n"]
    assert [file.stat().st_mode & 0o777 for file in files] == [0o600, 0o600]


def test_a_pipe_and_a_device_stay_as_they_are() -> None:
    before = Path("/dev/null").stat().st_mode
    done = subprocess.run([sys.executable, "-c", PRINT], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True)
    assert (done.stdout, Path("/dev/null").stat().st_mode) == (b"glpat-x\n", before)


def secret_kinds() -> set[str]:
    """The names of the documents that hold a secret."""
    kinds = {name: kind for name, kind in vars(documents).items() if name.isupper() and isinstance(kind, tuple)}
    return {name for name, kind in kinds.items() if SECRET_FIELDS & {getattr(field, "name", "") for field in kind}}


def test_every_command_that_prints_a_document_with_a_secret_keeps_it_private() -> None:
    kinds = re.compile(rf"\b(?:{'|'.join(secret_kinds())})\b")
    found = {}
    for file in COMMANDS.rglob("*.py"):
        for function in file.read_text().split("\ndef ")[1:]:
            name = function.partition("(")[0]
            if kinds.search(function) and name not in BY_THE_WAY:
                found[f"{file.name}:{name}"] = "keep_private()" in function
    assert len(found) >= 6
    assert {name for name, is_private in found.items() if not is_private} == set()
