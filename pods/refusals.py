"""Addresses whose tokens are refused again and again: their refusals come late, so that guessing costs them the time.

Only an answer that refuses is held back: good callers behind the same address notice nothing, and a bad token stays a
403, as runners expect (reference: reliability, 1.1 and D2).
"""

from collections import OrderedDict
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

from settings import FrontLimits

REFUSALS: Final = frozenset({HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN})
_REMEMBERED: Final = 10_000
"""Addresses; the one that was not refused for the longest time is forgotten first."""
_WINDOW: Final = 60.0
"""Seconds in which the number of prompt refusals is given anew."""


@dataclass(slots=True)
class _Account:
    """How many refusals an address may still get at once, as of a moment."""

    left: float
    moment: float


class Refusals:
    """Counts the refusals of each address."""

    def __init__(self, limits: FrontLimits) -> None:
        """Take how many are prompt, and how late the others come."""
        self._most = float(limits.prompt_refusals)
        self._pause = limits.refusal_pause
        self._accounts: OrderedDict[str, _Account] = OrderedDict()

    def pause(self, address: str, now: float) -> float:
        """Note one more refusal; the seconds for which it shall be held back."""
        account = self._accounts.pop(address, None) or _Account(self._most, now)
        self._accounts[address] = account
        if len(self._accounts) > _REMEMBERED:
            self._accounts.popitem(last=False)
        earned = (now - account.moment) * self._most / _WINDOW
        account.left, account.moment = min(account.left + earned, self._most), now
        if account.left < 1:
            return self._pause
        account.left -= 1
        return 0.0
