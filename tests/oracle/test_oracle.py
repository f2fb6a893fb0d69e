"""The simulation is judged by the scenario files, then it judges the product by random pipelines."""

from pathlib import Path

import pytest

from tests.cases import processing
from tests.oracle.runs import run
from tests.oracle.scenarios import all_faults

CASES = Path(__file__).parents[1] / "cases"


@pytest.mark.parametrize("folder", ["samples", "more"])
def test_the_simulation_passes_every_scenario(folder: str) -> None:
    assert all_faults(processing.scenarios_in(CASES / folder / "processing")) == {}


async def test_300_random_pipelines_go_by_the_domain_as_they_go_in_gitlab() -> None:
    """Takes 6 s: what 160 scenarios written by hand had not found, the first hundred of these did."""
    report = await run("domain", map(str, range(300)))
    assert report.cases == 300
    assert not report.faults, "\n".join(map(str, report.faults))
