"""The fuzzer agrees with the model, and finds a hole: two minutes of one seed with each slow run, an hour at night."""

import secrets
from pathlib import Path

import pytest

from auth import scopes
from auth.scopes import Scope, Use
from tests.permissions.fuzz import model
from tests.permissions.fuzz.beginning import opened
from tests.permissions.fuzz.run import fuzz

SEED = 37
"""A run for each push is the same each time: what it finds was put in by the push."""
MINUTES = 2

pytestmark = pytest.mark.slow  # 15 s to fill an installation, and then some calls of each route by many people


async def differences(folder: Path, seed: int, minutes: float) -> str:
    """What a run finds, as it is printed."""
    async with opened(folder) as (place, world):
        report = await fuzz(place, world, seed, minutes)
    return "\n".join((f"seed {seed}", *map(str, report.differences))) if report.differences else ""


def test_the_model_stays_small_enough_to_be_read() -> None:
    assert len(Path(model.__file__).read_text().splitlines()) <= 300


async def test_a_hole_is_found_and_shrunk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(scopes.PERMITS, Scope.READ_API, frozenset(Use))
    found = await differences(tmp_path, SEED, 10)  # it ends with the first one, after some hundred calls
    assert "the model: refused, by 'the scopes read_api do not open it'" in found
    assert "acts before it:\n  none\n" in found


async def test_nobody_may_more_or_less_than_the_model_says(tmp_path: Path) -> None:
    found = await differences(tmp_path, SEED, MINUTES)  # two minutes: each route a dozen times, by people of each kind
    assert not found, found


@pytest.mark.nightly
@pytest.mark.parametrize("part", range(6))  # an hour in all; no test may take twenty minutes
async def test_nobody_may_more_or_less_in_an_hour(tmp_path: Path, part: int) -> None:
    found = await differences(tmp_path, secrets.randbelow(2**32) * 6 + part, 10)
    assert not found, found
