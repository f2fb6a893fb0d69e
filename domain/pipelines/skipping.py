"""Commits that ask for no pipeline, and which events heed that.

Source: docs/reference/pipelines.md, "Commits that skip".
"""

import re
from typing import Final

HEEDING: Final = frozenset({"push", "merge_request_event", "external_pull_request_event"})
"""Sources whose pipelines come by themselves. Whoever asks for one (by form, API, trigger, schedule, bridge, or by a
subscription) means it."""

BY_MESSAGE: Final = "Skipped: its commit message asks for that ([skip ci])."
BY_OPTION: Final = "Skipped: its push asked for that (push option `ci.skip`)."

_MARKER: Final = re.compile(r"\[(ci[ _-]skip|skip[ _-]ci)\]", re.IGNORECASE)


def asks_to_skip(message: str) -> bool:
    """Whether a commit message holds `[ci skip]` or `[skip ci]`, also written with `-` or `_`, in any case."""
    return _MARKER.search(message) is not None


def is_skipped(source: str, message: str) -> bool:
    """Whether an event makes a pipeline without jobs, since its commit asks for that."""
    return source in HEEDING and asks_to_skip(message)
