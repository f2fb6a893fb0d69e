"""Compiling in rounds: ask for what is wanted, compile again. For callers that find answers at once."""

from collections.abc import Callable, Mapping
from typing import TypeVar

from domain.config.sources import Answer, Request, Wanted

T = TypeVar("T")


def in_rounds(work: Callable[[Mapping[Request, Answer]], T | Wanted], answer: Callable[[Request], Answer]) -> T:
    """Call `work` with all answers so far until it wants nothing more.

    It ends, since every round asks for something new and the number of includes is limited.
    """
    known: dict[Request, Answer] = {}
    while isinstance(result := work(known), Wanted):
        known.update({request: answer(request) for request in result.requests})
    return result
