"""The step runner as a program of its own, where no Python is: `FILE serve`, or `FILE step-runner serve`."""

import os
import sys
from pathlib import Path
from typing import Final

from domain.errors import PerdureError
from steps.own_program import PART, run_part

_LIBRARIES: Final = "LD_LIBRARY_PATH"
_OF_THE_BOOTLOADER: Final = ("_PYI_", _LIBRARIES)
_LIBRARIES_BEFORE: Final = "PERDURE_BUNDLE_LIBRARIES"
"""What `steps/bundle/start.sh` found set."""
_SECOND_NAME: Final = "step-runner"
"""A bundle may lie in the place of `perdure`."""


def main() -> None:
    """Entry point; an error becomes a message on stderr and an exit status."""
    restore_environment()
    words = sys.argv[1:]
    if words[:1] == [PART]:
        sys.argv = [sys.argv[0], *words[2:]]
        run_part(words[1])
        return
    if words[:1] == [_SECOND_NAME]:
        words = words[1:]
    try:
        _run(words)
    except (PerdureError, OSError) as error:
        from cli.exit_codes import ExitCode, exit_code

        sys.stderr.write(f"Error: {error}\n")
        sys.exit(exit_code(error) if isinstance(error, PerdureError) else ExitCode.FAILED)


def restore_environment() -> None:
    """Take away what was set to start this program: commands of steps bring their own libraries."""
    for name in [name for name in os.environ if name.startswith(_OF_THE_BOOTLOADER)]:
        del os.environ[name]
    before = os.environ.pop(_LIBRARIES_BEFORE, None)
    if before is not None:
        os.environ[_LIBRARIES] = before


def _run(words: list[str]) -> None:
    """`proxy` begins often, and somebody waits for it: it loads nothing else."""
    match words:
        case ["proxy"]:
            from steps.proxy import join
            from steps.socket_place import socket_path

            join(socket_path(os.environ, os.geteuid()), sys.stdin.fileno(), sys.stdout.fileno())
        case ["proxy", "--socket", path]:
            from steps.proxy import join

            join(Path(path), sys.stdin.fileno(), sys.stdout.fileno())
        case _:
            from cli.step_runner import app

            app(args=words, prog_name=_SECOND_NAME)


if __name__ == "__main__":
    main()
