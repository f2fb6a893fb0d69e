"""A connection that nobody closes is found by the garbage collector, in any later test: this says which one made it."""

import os
from asyncio import selector_events
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import pytest

_TEST: Final = "PYTEST_CURRENT_TEST"
"""Set by pytest, with the part of the test that runs."""


@contextmanager
def known_makers() -> Iterator[None]:
    """Every warning of an unclosed transport names the test in which it was opened, while the block runs."""
    transport: Any = vars(selector_events)["_SelectorTransport"]
    make, show = transport.__init__, transport.__repr__

    def made(self: Any, *arguments: Any, **options: Any) -> None:
        make(self, *arguments, **options)
        self._extra["test"] = os.environ.get(_TEST, "no test")

    def shown(self: Any) -> str:
        return f"{show(self)} made by {self.get_extra_info('test')}"

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(transport, "__init__", made)
        patch.setattr(transport, "__repr__", shown)
        yield
