"""Figures that take a while to read: seldom read, and told no longer than they are true."""

import pytest

from metrics import measured, names
from metrics.measured import Measured
from metrics.sampled import Reading


class Source:
    """What is read: how often it was so far."""

    def __init__(self) -> None:
        self.reads = 0
        self.error: Exception | None = None
        self.told: list[Exception] = []

    async def read(self) -> Reading:
        if self.error is not None:
            raise self.error
        self.reads += 1
        return {names.QUEUE_JOBS: {(): self.reads}}


async def test_what_is_fresh_is_not_read_again() -> None:
    source = Source()
    figures = Measured(source.read, source.told.append, fresh=3600)
    assert figures.now() == {}
    for _ in range(3):
        await figures.refresh()
    assert figures.now() == {names.QUEUE_JOBS: {(): 1}}
    assert source.reads == 1


async def test_a_look_in_vain_is_told_and_the_figures_before_it_stay_until_they_are_old(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    source = Source()
    figures = Measured(source.read, source.told.append, fresh=0)
    await figures.refresh()
    source.error = OSError("away")
    await figures.refresh()
    assert source.told == [source.error]
    assert figures.now() == {names.QUEUE_JOBS: {(): 1}}
    monkeypatch.setattr(measured, "STALE", 0)
    assert figures.now() == {}
