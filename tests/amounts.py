"""How much a run tests: a push a part of each kind, a night all of it (docs/decisions/0055).

`nightly` marks tests whose kind has run already: the other database, further random cases. `amount` is for tests that
stay, with less of the same.
"""

import os
from collections.abc import Iterable
from typing import Final, TypeVar

import pytest

T = TypeVar("T")

NIGHTLY: Final = bool(os.environ.get("PERDURE_NIGHTLY"))
"""Whether this run takes all; `make test-nightly` sets it."""


def amount(push: T, night: T) -> T:
    """What of the two this run takes."""
    return night if NIGHTLY else push


def mark_nightly_as_slow(items: Iterable[pytest.Item]) -> None:
    """What is for the night is not for the quick suite."""
    for item in items:
        if item.get_closest_marker("nightly"):
            item.add_marker(pytest.mark.slow)
