"""Running `perdure ...` in this process."""

import contextlib
import io
import sys
from dataclasses import dataclass
from typing import Any
from unittest import mock

from cli import main


@dataclass(frozen=True)
class Ran:
    """What a command left."""

    code: int
    out: str
    err: str


def run(*words: str, stdin: bytes = b"") -> Ran:
    """Run a command to its end."""
    out, err = io.StringIO(), io.StringIO()
    given: Any = mock.Mock(buffer=io.BytesIO(stdin))
    code: Any = 0
    with (
        mock.patch.object(sys, "argv", ["perdure", *words]),
        mock.patch.object(sys, "stdin", given),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        try:
            main.main()
        except SystemExit as end:
            code = end.code or 0
    return Ran(code, out.getvalue(), err.getvalue())
