"""Turns the lines of a step into one bash script that shows each command before it runs."""

import shlex
from collections.abc import Sequence

from fleet.trace import GREEN, RESET

BASH = ("bash", "--noprofile", "--norc", "-eo", "pipefail")
"""A failing command ends the script, also inside a pipe; no start-up file changes that."""


def bash_script(lines: Sequence[str]) -> str:
    """The text of the script. A command of several lines is shown by its first line only, as runners do."""
    parts: list[str] = []
    for line in lines:
        first, _, rest = line.strip("\n").partition("\n")
        shown = f"$ {first} # collapsed multi-line command" if rest.strip() else f"$ {first}"
        if first or rest:
            parts.append(f"printf '%s\\n' {shlex.quote(GREEN + shown + RESET)}")
        parts.append(line)
    return "\n".join(parts) + "\n"
