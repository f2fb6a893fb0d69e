"""What happened since a runner has looked, as far as it concerns that runner."""

import pytest

from api.runner import queue_version
from api.runner.queue_version import QueueVersion
from domain.runners.matching import Candidate, Demand

PLAIN = Candidate()
TAGGED = Candidate(tags=frozenset({"gpu"}))
ANY = Demand(project_id=1)
GPU = Demand(project_id=1, tags=frozenset({"gpu"}))


def test_only_an_offer_that_a_runner_may_take_concerns_it() -> None:
    version = QueueVersion()
    seen = version.seen
    version.offered(7, GPU)
    assert version.is_current(seen, PLAIN)
    assert not version.is_current(seen, TAGGED)
    assert version.is_current(version.seen, TAGGED)
    version.offered(8, ANY)
    assert not version.is_current(seen, PLAIN)


def test_a_change_concerns_everybody() -> None:
    version = QueueVersion()
    seen = version.seen
    version.changed()
    assert not version.is_current(seen, PLAIN)
    assert version.is_current(version.seen, PLAIN)


def test_another_process_has_seen_nothing_of_ours() -> None:
    version, other = QueueVersion(), QueueVersion()
    assert not version.is_current(other.seen, PLAIN)
    assert not version.is_ours(other.seen)
    assert not version.is_current(None, PLAIN)


def test_what_is_too_long_ago_to_be_remembered_concerns_everybody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queue_version, "_REMEMBERED", 2)
    version = QueueVersion()
    seen = version.seen
    version.offered(1, GPU)
    assert version.is_current(seen, PLAIN)
    middle = version.seen
    for demand_id in (2, 3):
        version.offered(demand_id, GPU)
    assert not version.is_current(seen, PLAIN)
    assert version.is_current(middle, PLAIN)
