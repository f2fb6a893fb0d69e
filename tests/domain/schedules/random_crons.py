"""Random cron expressions, right and wrong ones."""

from random import Random
from typing import Final

_BOUNDS: Final = {"m": (0, 60), "h": (0, 25), "d": (-32, 32), "M": (0, 13), "w": (0, 8)}
_NAMES: Final = {"d": ("L", "last"), "M": ("jan", "Feb", "DEC", "march"), "w": ("mon", "SUN", "fri", "monday")}
_BEHIND: Final = ("#1", "#2", "#-1", "#L", "#5", "%2", "%3+1", "%2+1", "#6", "%4")


def cron_of(random: Random) -> str:
    """An expression; in every second one minute and hour are simple, so that its days are reached."""
    fields = {kind: _field(random, kind) for kind in "mhdMw"}
    if random.random() < 0.5:
        fields |= {"m": "0", "h": "3"}
    zone = random.choice(("",) * 12 + (" UTC", " utc"))
    return " ".join(fields.values()) + zone


def _field(random: Random, kind: str) -> str:
    if random.random() < 0.3:
        return "*"
    text = ",".join(_part(random, kind) for _ in range(random.choice((1, 1, 1, 2, 3))))
    if random.random() < 0.03:
        text = random.choice((f",{text}", f"{text},", text.replace(",", ",,")))
    return f"{text}&" if kind in "dw" and random.random() < 0.04 else text


def _part(random: Random, kind: str) -> str:
    how = random.random()
    if how < 0.05:
        return f"/{random.choice((1, 2, 5, 7))}"
    if kind == "w" and how < 0.25:
        return _value(random, kind) + random.choice(_BEHIND)
    text = "*" if how < 0.35 else _value(random, kind)
    if how > 0.7:
        text += f"-{_value(random, kind)}"
    return f"{text}/{random.choice((1, 1, 2, 3, 5, 7, 10, 0, 40, 100))}" if random.random() < 0.25 else text


def _value(random: Random, kind: str) -> str:
    if kind in _NAMES and random.random() < 0.25:
        return random.choice(_NAMES[kind])
    wrong = random.random() < 0.05
    return random.choice(("-1", "99", "0", "01", "x")) if wrong else str(random.randint(*_BOUNDS[kind]))
