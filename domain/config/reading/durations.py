"""Durations as GitLab writes them: `1h 30m`, `3 mins 4 sec`, `2h20min`, `1 week and 2 days`, `90`.

Source: docs/reference/ci-yaml.md, "Job keywords", "Limits".
"""

import re
from typing import Final

from domain.errors import Invalid

MINUTE: Final = 60
HOUR: Final = 60 * MINUTE
DAY: Final = 24 * HOUR
WEEK: Final = 7 * DAY
MONTH: Final = 30 * DAY
YEAR: Final = int(365.25 * DAY)

UNITS: Final = {
    name: seconds
    for names, seconds in (
        ("s sec secs second seconds", 1),
        ("m min mins minute minutes", MINUTE),
        ("h hr hrs hour hours", HOUR),
        ("d dy day days", DAY),
        ("w wk wks week weeks", WEEK),
        ("mo mon mos month months", MONTH),
        ("y yr yrs year years", YEAR),
    )
    for name in names.split()
}
"""Seconds of every unit's spellings."""

NUMBER_WORDS: Final = {
    "a": 1,
    "an": 1,
    **{
        word: number
        for number, word in enumerate("one two three four five six seven eight nine ten eleven twelve".split(), start=1)
    },
}
CLOCK_UNITS: Final = (1, MINUTE, HOUR, DAY)
"""Seconds of the parts of `2:30` and `1:00:00`, the last part first."""

NEVER: Final = "never"
"""What `artifacts:expire_in` says for artifacts that stay."""

_MAX_TEXT: Final = 100
_WORD: Final = re.compile(r"\d+(?:\.\d+)?|[a-z]+|\S")
_FILLERS: Final = frozenset({"and", "in", "with", "plus", ","})
_CLOCK: Final = re.compile(r"\d+(?::\d+){1,3}", re.ASCII)


def parse_duration(text: str) -> int:
    """Whole seconds, more than 0; a number without a unit at the end is seconds. Raises `Invalid` for other text."""
    if len(text) <= _MAX_TEXT and _CLOCK.fullmatch(text.strip()):
        text = f"{sum(int(part) * unit for part, unit in zip(reversed(text.split(':')), CLOCK_UNITS, strict=False))} s"
    words = [word for word in _WORD.findall(text.lower()) if word not in _FILLERS] if len(text) <= _MAX_TEXT else []
    total = 0.0
    for position in range(0, len(words), 2):
        number = _number(words[position])
        unit = UNITS.get(words[position + 1]) if position + 1 < len(words) else 1
        if number is None or unit is None:
            raise Invalid(f"{text!r} is not a duration; write it like `1h 30m` or `10 minutes`.")
        total += number * unit
    if int(total) < 1:
        raise Invalid(f"{text[:_MAX_TEXT]!r} is not a duration; write it like `1h 30m` or `10 minutes`.")
    return int(total)


def parse_expiry(text: str) -> int | None:
    """Seconds after which artifacts go, None for `never`. Raises `Invalid` for other text."""
    return None if text.strip().lower() == NEVER else parse_duration(text)


def _number(word: str) -> float | None:
    return float(word) if word[0].isdecimal() and word.isascii() else NUMBER_WORDS.get(word)
