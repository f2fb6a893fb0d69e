"""Random right configurations, judged by a second reading of GitLab's rules. More: `python -m tests.fuzz.valid`."""

import pytest

from tests.fuzz.valid.runs import run


def test_100_random_configurations_compile_as_gitlab_reads_them() -> None:
    """Takes about 2 s of CPU. Cases are about one rule each; here rules meet.

    The first 3,000 showed two differences that no case had; 100 show most rules that are taken out of the compiler.
    """
    report = run(range(100), mutants=1)
    assert not report.faults, "\n".join(report.faults)
    assert min(report.outcomes[outcome] for outcome in ("planned", "filtered", "refused")) >= 3
    assert min(report.mutants[outcome] for outcome in ("planned", "refused")) >= 10


@pytest.mark.slow
@pytest.mark.parametrize("first", [1_000, *(pytest.param(n, marks=pytest.mark.nightly) for n in (2_000, 3_000, 4_000))])
def test_4000_random_configurations_and_four_mutants_of_each(first: int) -> None:
    """Takes minutes; a push takes 1,000 of them."""
    report = run(range(first, first + 1_000), mutants=4)
    assert not report.faults, "\n".join(report.faults)
