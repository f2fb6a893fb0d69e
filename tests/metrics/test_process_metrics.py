"""What every process tells of itself."""

from importlib.metadata import PackageNotFoundError

import pytest
from prometheus_client import generate_latest

from metrics import names, process_metrics
from metrics.process_metrics import ProcessMetrics
from tests.metrics.scraping import Scrape


def test_a_tree_that_is_not_installed_starts_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in the image: it holds the tree and no distribution of it."""

    def version(name: str) -> str:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(process_metrics, "version", version)
    found = Scrape(generate_latest(ProcessMetrics("api", "seven").registry).decode())
    assert found.labels(names.BUILD) == [{"version": "unknown", "role": "api", "pod": "seven"}]
