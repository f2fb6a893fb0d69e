"""What is compared of a small and a large home, and that a whole home is one that the product takes for its own."""

from pathlib import Path

from bench.growth import homes
from bench.growth.asking import compared
from bench.growth.figures import _of_all
from bench.rows import all_hold
from settings import Settings


def test_what_takes_hardly_longer_holds_whatever_the_ratio() -> None:
    assert [row.measured for row in compared("a", [0.001, 0.0025])] == [1, 2.5, 1]
    assert not all_hold(compared("a", [0.01, 0.02]))
    assert all_hold(compared("a", [0.01, 0.014]))


async def test_a_home_is_backed_up_whole_and_breaks_no_rule(tmp_path: Path) -> None:
    """Every object that a row names is there, and every pipeline has its commit."""
    settings = Settings(home=tmp_path / "home", database_url="", object_store="", temporal_address="")
    await homes.make(settings, 1_000, 40, projects=3)
    rows = {row.name.rpartition(": ")[2]: row for row in await _of_all("SQLite", settings, tmp_path)}
    assert rows["backup, objects"].measured == 730 + 460
    assert all_hold(rows.values())
