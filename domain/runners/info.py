"""What is kept of the `info` that runners send with their calls (docs/reference/runner-protocol.md, "Runner info")."""

from collections.abc import Mapping
from typing import Any, Final

LEGACY_SYSTEM_ID: Final = "<legacy>"
"""What stands for the id of a process that names none."""
_WORDS: Final = ("name", "version", "revision", "platform", "architecture", "executor", "shell")
_MAX_LENGTH: Final = 255
_MAX_FIELDS: Final = 200
"""Features and labels of one runner."""


def kept_info(info: Any) -> dict[str, Any]:
    """The known words, features (yes or no) and labels of an `info` object; whatever else there is stays out.

    Runners of all versions and makes send it: nothing is refused, long words are cut.
    """
    if not isinstance(info, Mapping):
        return {}
    kept: dict[str, Any] = {name: _word(info[name]) for name in _WORDS if isinstance(info.get(name), str)}
    for name, kind in (("features", bool), ("labels", str)):
        given = info.get(name)
        if isinstance(given, Mapping):
            pairs = list(given.items())[:_MAX_FIELDS]
            kept[name] = {_word(key): _cleaned(value) for key, value in pairs if isinstance(value, kind)}
    return kept


def _cleaned(value: bool | str) -> bool | str:
    return _word(value) if isinstance(value, str) else value


def _word(text: str) -> str:
    """A text that every database keeps."""
    return text.replace("\0", "")[:_MAX_LENGTH]
