"""Trailers of a commit's message: the lines `Key: value` that end it. Source: git's git-interpret-trailers(1)."""

import re
from typing import Final

_LINE: Final = re.compile(r"([A-Za-z0-9-]+)\s*:\s*(.*)")
_PICKED: Final = "(cherry picked from commit "


def trailers_of(message: str) -> dict[str, list[str]]:
    """Keys to their values, in order; empty unless the last paragraph, not the first one, holds nothing else."""
    title, _, rest = message.rstrip().rpartition("\n\n")
    if not title:
        return {}
    found: dict[str, list[list[str]]] = {}
    last = ""
    for line in rest.split("\n"):
        if line.startswith(_PICKED):
            continue
        if line[:1].isspace() and last:
            found[last][-1].append(line.strip())
            continue
        match = _LINE.fullmatch(line)
        if match is None:
            return {}
        last = match.group(1)
        found.setdefault(last, []).append([match.group(2).strip()])
    return {key: [" ".join(parts) for parts in values] for key, values in found.items()}
