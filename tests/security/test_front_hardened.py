"""The front under attack: good runners get every response that is theirs, and slow senders are let go in time.

How long their calls take meanwhile is measured by `python -m bench front`.
"""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.security.attacked_front import FRONTS, WARM, Good, api_with_a_job, attack, good_runners
from tests.server import Server

pytestmark = [pytest.mark.slow, pytest.mark.alone]

ANSWERS = {
    "held": ({"204"}, {"204"}),
    # Runners sleep after 403, but come again after 429: a bad token is 403 whatever happens.
    "guessing": ({"403"}, {"403"}),
    "flooding": ({"431"}, {"431", "400", "200", "404"}),
}
"""What an attack must be answered, and what it may be."""
GUESSES = 300
"""Of 10,000 that an attacker means to make while the attack lasts: 60 and one each second are answered at once."""
MAX_LIFE = 15.0
"""Seconds (docs/reference/reliability.md, "Slow and flooding clients")."""
CUT = {"embedded": ("header", "body", "upload"), "nginx": ("header", "upload")}
"""Slow senders that a front lets go in that time. nginx has no clock for a body as a whole: no API hears of it."""


@pytest.fixture(scope="module")
async def api(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Server]:
    """A server whose database has one job that waits for a runner."""
    async with api_with_a_job(tmp_path_factory.mktemp("api")) as server:
        yield server


@pytest.fixture(scope="module")
async def good(api: Server) -> Good:
    """Good runners, one of which has that job."""
    return await good_runners(api)


@pytest.fixture(params=FRONTS)
def front(request: pytest.FixtureRequest) -> str:
    """Which front."""
    return str(request.param)


@pytest.fixture
async def port(front: str, api: Server, tmp_path: Path) -> AsyncIterator[int]:
    """The port of one in front of the API."""
    async with FRONTS[front](tmp_path, api) as found:
        yield found


@pytest.mark.parametrize("kind", WARM)
async def test_good_runners_are_served_as_ever(front: str, port: int, good: Good, kind: str, tmp_path: Path) -> None:
    found = await attack(port, good, kind, tmp_path)
    assert good.wrong == []
    assert found.refused == 0
    if kind == "trickling":
        lives = [life for cut in CUT[front] for life in found.lives[cut]]
        assert len(lives) >= 1_000
        assert max(lives) <= MAX_LIFE
    else:
        must, may = ANSWERS[kind]
        assert must <= found.statuses.keys() <= may
    if kind == "guessing":
        assert found.statuses["403"] <= GUESSES
