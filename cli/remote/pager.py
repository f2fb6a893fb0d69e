"""Long texts on a terminal: through `$PAGER`, `less` without one."""

import contextlib
import os
import shlex
import shutil
import subprocess
from collections.abc import Iterable
from typing import Final

_DEFAULT: Final = "less"
_LESS: Final = "FRX"
"""Colours as they are; no pager for what fits on the screen; the text stays there."""


def page(pieces: Iterable[str]) -> bool:
    """Show pieces in a pager; false if there is none, and nothing was taken."""
    words = shlex.split(os.environ.get("PERDURE_PAGER") or os.environ.get("PAGER") or _DEFAULT)
    if not words or words[0] == "cat" or not shutil.which(words[0]):
        return False
    environment = {"LESS": _LESS, "LV": "-c", **os.environ}
    with subprocess.Popen(words, stdin=subprocess.PIPE, text=True, encoding="utf-8", env=environment) as process:
        assert process.stdin is not None
        with contextlib.suppress(BrokenPipeError, KeyboardInterrupt):  # the reader has enough
            for piece in pieces:
                process.stdin.write(piece)
        with contextlib.suppress(BrokenPipeError):
            process.stdin.close()
        while process.poll() is None:
            with contextlib.suppress(KeyboardInterrupt):  # Ctrl-C is the pager's while it runs
                process.wait()
    return True
