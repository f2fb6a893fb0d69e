"""What counts as a freeze of our own: computing while others wait, and neither sleep, nor being stopped."""

import asyncio
import time

import pytest

from loops.held_loop import EVERY, HeldLoop


class Clocks:
    """Seconds that pass, and seconds that are computed."""

    def __init__(self) -> None:
        self.now = self.computed = 0.0
        self.held = HeldLoop(lambda: self.now, lambda: self.computed)

    def pass_by(self, seconds: float, computed: float) -> None:
        self.now += seconds
        self.computed += computed


@pytest.mark.parametrize(
    ("what", "seconds", "computed", "held"),
    [
        ("nothing", EVERY, 0.01, 0.0),
        ("a busy moment, and nobody waits", EVERY, EVERY, 0.0),
        ("pages are rendered", 21.8, 21.5, 21.3),
        ("half of a processor is somebody else's", 21.8, 10.0, 10.0),
        ("the process is stopped", 600.0, 0.0, 0.0),
        ("the disk is away", 30.0, 0.2, 0.2),
    ],
)
def test_only_what_was_computed_while_a_look_was_due(what: str, seconds: float, computed: float, held: float) -> None:
    clocks = Clocks()
    clocks.pass_by(seconds, computed)
    assert clocks.held.seconds() == pytest.approx(held), what
    clocks.held.look()
    clocks.pass_by(EVERY, 0.0)
    assert clocks.held.seconds() == pytest.approx(held)


async def test_a_loop_that_computes_is_seen_while_it_is_not_looked_at() -> None:
    """Costs a second of the processor: so much is more than a look and less than a patience."""
    held = HeldLoop()
    looking = asyncio.create_task(held.run())
    await asyncio.sleep(0)
    until = time.process_time() + 2 * EVERY
    while time.process_time() < until:
        sum(range(1000))
    assert held.seconds() >= EVERY / 2
    looking.cancel()
    await asyncio.gather(looking, return_exceptions=True)
