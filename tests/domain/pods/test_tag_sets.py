"""Tag sets: what an organisation used, what a pod serves, and what is told before one comes to the other."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.pods.tag_sets import (
    ServedTagSet,
    Unserved,
    Use,
    needed_elsewhere,
    offered_to_all,
    served_tag_sets,
    unserved,
    used_tag_sets,
    warning,
)
from domain.runners.in_reach import Availability
from domain.runners.matching import Candidate, Demand, RunnerType
from tests.domain.runners.crowd import DEMANDS, RUNNERS
from tests.domain.runners.test_in_reach import by_looking_at_all, fits
from tests.growth import assert_linear

NOW = datetime(2026, 5, 4, tzinfo=UTC)
USES = st.builds(Use, DEMANDS, st.integers(1, 9), st.integers(0, 29).map(lambda days: NOW - timedelta(days=days)))
SERVED = st.builds(
    ServedTagSet,
    tags=st.lists(st.sampled_from(["arm", "gpu", "linux"])).map(tuple),
    runner_type=st.sampled_from(RunnerType),
    run_untagged=st.booleans(),
    ref_protected=st.booleans(),
    as_server=st.booleans(),
    available=st.integers(0, 2),
    silent=st.integers(0, 2),
    paused=st.integers(0, 2),
)


def owned(runners: Sequence[Candidate]) -> list[Candidate]:
    return [runner for runner in runners if runner.runner_type != "instance_type"]


@given(st.lists(USES, max_size=8), st.lists(RUNNERS, max_size=6))
def test_every_job_is_counted_once_where_looking_at_all_runners_puts_it(
    uses: list[Use], runners: list[Candidate]
) -> None:
    expected: Counter[tuple[Any, ...]] = Counter()
    last: dict[tuple[Any, ...], datetime] = {}
    for use in uses:
        key = (
            tuple(sorted(use.demand.tags)),
            use.demand.protected,
            use.demand.instance_runners,
            by_looking_at_all(use.demand, runners),
            by_looking_at_all(use.demand, owned(runners)),
        )
        expected[key] += use.jobs
        last[key] = max(last.get(key, use.last_used_at), use.last_used_at)
    found = used_tag_sets(uses, runners)
    keys = [(one.tags, one.ref_protected, one.instance_runners, one.here, one.own) for one in found]
    assert dict(zip(keys, (one.jobs for one in found), strict=True)) == expected
    assert dict(zip(keys, (one.last_used_at for one in found), strict=True)) == last
    assert keys == sorted(keys)


@given(st.lists(USES, max_size=8), st.lists(RUNNERS, max_size=6))
def test_what_no_runner_takes_at_once_is_told_with_its_worst(uses: list[Use], runners: list[Candidate]) -> None:
    order = ["silent", "paused", "none"]
    expected: dict[tuple[str, ...], tuple[str, int]] = {}
    for use in uses:
        tags, state = tuple(sorted(use.demand.tags)), by_looking_at_all(use.demand, runners)
        if state == "available":
            continue
        known, jobs = expected.get(tags, ("silent", 0))
        worst = max(known, state, key=order.index)
        expected[tags] = (worst, (jobs if known == worst else 0) + (use.jobs if state == worst else 0))
    found = unserved(uses, runners)
    assert {one.tags: (str(one.availability), one.jobs) for one in found} == expected
    assert all(one.why for one in found)


@given(st.lists(USES, max_size=6), st.lists(RUNNERS, max_size=6), st.lists(SERVED, max_size=5))
def test_an_organisation_that_comes_is_warned_of_what_neither_its_own_nor_the_pods_runners_take(
    uses: list[Use], at_home: list[Candidate], there: list[ServedTagSet]
) -> None:
    """Held against all runners as they would be there: its own, which move along, and those of that pod's instance."""
    instance = [
        Candidate(
            tags=frozenset(one.tags),
            run_untagged=one.run_untagged,
            ref_protected=one.ref_protected,
            as_server=one.as_server,
            paused=not (one.available or one.silent),
        )
        for one in there
        if one.runner_type == "instance_type" and one.available + one.silent + one.paused
    ]
    expected = set()
    for use in uses:
        stays = by_looking_at_all(use.demand, owned(at_home))
        demand = replace(use.demand, others=True, may_run_as_server=False)
        taken = [runner for runner in instance if fits(demand, runner)]
        if stays == "none" and not taken:
            expected.add(tuple(sorted(use.demand.tags)))
    found = unserved(needed_elsewhere(used_tag_sets(uses, at_home)), offered_to_all(there))
    assert {one.tags for one in found if one.availability is Availability.NONE} == expected


@given(st.lists(SERVED, max_size=8))
def test_runners_that_take_the_same_are_counted_together(rows: list[ServedTagSet]) -> None:
    found = served_tag_sets(rows)
    keys = [(one.tags, one.runner_type, one.run_untagged, one.ref_protected, one.as_server) for one in found]
    assert len(set(keys)) == len(keys)
    for one, key in zip(found, keys, strict=True):
        alike = [row for row in rows if (tuple(sorted(set(row.tags))), *key[1:]) == key and _same(row, one)]
        assert (one.available, one.silent, one.paused) == (
            sum(row.available for row in alike),
            sum(row.silent for row in alike),
            sum(row.paused for row in alike),
        )


def _same(row: ServedTagSet, one: ServedTagSet) -> bool:
    kept = ("runner_type", "run_untagged", "ref_protected", "as_server")
    return all(getattr(row, name) == getattr(one, name) for name in kept)


PLAIN = Demand(project_id=1, organisation_id=10)
GPU = replace(PLAIN, tags=frozenset({"gpu"}))


@pytest.mark.parametrize(
    ("demand", "runners", "why"),
    [
        (PLAIN, [], "there is no runner of the instance"),
        (replace(PLAIN, instance_runners=False), [Candidate()], "take no runners of the instance"),
        (GPU, [Candidate()], "no runner there has all of these tags"),
        (PLAIN, [Candidate(run_untagged=False)], "takes jobs without tags"),
        (PLAIN, [Candidate(ref_protected=True)], "only jobs of protected refs"),
        (replace(PLAIN, others=True), [Candidate(as_server=True)], "an administrator must permit"),
        (PLAIN, [Candidate(paused=True)], "are paused"),
        (PLAIN, [Candidate(online=False)], "are silent"),
    ],
)
def test_it_is_said_why_nobody_takes_a_tag_set(demand: Demand, runners: list[Candidate], why: str) -> None:
    (found,) = unserved([Use(demand, 1, NOW)], runners)
    assert why in found.why


def test_a_warning_says_which_tag_set_how_much_and_what_to_do() -> None:
    one = Unserved(("big gpu", "linux"), Availability.NONE, 12, NOW, "no runner there has all of these tags")
    assert warning(one, "seven", 30) == (
        "Tag set big gpu, linux: 12 jobs in the last 30 days, the last on 2026-05-04, cannot run in pod seven: no "
        "runner there has all of these tags. Register one there (`perdure runner create --for instance --tag 'big gpu' "
        "--tag linux`), or one of the organisation's own before it comes."
    )
    one = Unserved((), Availability.PAUSED, 1, NOW, "the runners that fit there are paused")
    assert warning(one, "seven", 7) == (
        "Jobs without tags: 1 job in the last 7 days, the last on 2026-05-04, would wait in pod seven: the runners "
        "that fit there are paused. Bring one of them back before the organisation comes."
    )


def test_what_an_organisation_used_costs_what_there_is_of_it() -> None:
    """As many projects, each with a runner and a tag set of its own."""

    def work(size: int) -> Any:
        runners = [
            Candidate(RunnerType.PROJECT, 1, frozenset({number}), frozenset({str(number)})) for number in range(size)
        ]
        uses = [Use(Demand(number, 1, frozenset({str(number)})), 1, NOW) for number in range(size)]
        return lambda: used_tag_sets(uses, runners)

    assert_linear(work, 500)
