"""The simulator against theory: waiting times, conservation, the same from the same seed."""

from dataclasses import replace
from math import factorial
from random import Random
from statistics import fmean

import pytest

from bench.pods_simulation.claims import percentile, simulate
from bench.pods_simulation.clock import Clock, Station
from bench.pods_simulation.inputs import ASSUMED, COSTS
from bench.pods_simulation.load import Case, load, places
from bench.pods_simulation.pools import Pools, pooled
from bench.pods_simulation.ways import WAYS

SMALL = replace(ASSUMED, jobs_per_day=2e6, window=8.0, warm_up=1.0, organisations=500, storm=200, runner_window=60.0)


def erlang_wait(servers: int, load: float) -> float:
    """The mean wait of M/M/c in mean service times, by Erlang's formula; `load` is in servers."""
    last = load**servers / factorial(servers) * servers / (servers - load)
    waits = last / (sum(load**number / factorial(number) for number in range(servers)) + last)
    return waits / (servers - load)


@pytest.mark.parametrize(("servers", "load"), [(1, 0.6), (2, 1.2), (8, 6.0)])
def test_a_station_waits_as_erlang_says(servers: int, load: float) -> None:
    clock, random = Clock(), Random(7)
    station, took = Station(clock, servers, random), []

    def come() -> None:
        begun = clock.now
        station.take(1.0, lambda: took.append(clock.now - begun))
        clock.after(random.expovariate(load), come)

    come()
    clock.run(200_000 / load)
    waited = (sum(took) - station.worked) / len(took)  # less what was drawn, which is closer than less the mean
    assert waited == pytest.approx(erlang_wait(servers, load), rel=0.05)
    assert station.worked / servers / clock.now == pytest.approx(load / servers, rel=0.02)


def test_runners_wait_as_erlang_says() -> None:
    random = Random(11)
    running = Pools([8], 1.0, random)

    def come() -> None:
        running.come(running.pools[0])
        running.clock.after(random.expovariate(6.0), come)

    come()
    running.clock.run(30_000.0)
    assert fmean(running.waits) == pytest.approx(erlang_wait(8, 6.0), rel=0.05)


def test_runners_of_two_pods_are_idle_while_jobs_of_the_other_wait() -> None:
    running = Pools([1, 1], 1e9, Random(1))
    for _ in range(2):
        running.come(running.pools[0])
    running.clock.run(10.0)
    running.come(running.pools[1])
    assert running.area == 10.0


@pytest.mark.parametrize("case", Case)
@pytest.mark.parametrize("way", WAYS)
def test_jobs_are_handed_out_or_wait_and_a_seed_decides(way: str, case: Case) -> None:
    made = load(SMALL, 5, case, 3)
    outcome = simulate(way, made, case, 3, assumed=SMALL)
    assert outcome.jobs == len(made.jobs) == outcome.handed + outcome.waiting
    assert outcome == simulate(way, load(SMALL, 5, case, 3), case, 3, assumed=SMALL)
    assert 0 <= outcome.mean <= outcome.busiest <= 1.05
    if case is Case.USUAL:
        assert outcome.barred == 0


@pytest.mark.parametrize("way", WAYS)
def test_a_lost_pod_bars_its_own_jobs(way: str) -> None:
    made = load(SMALL, 5, Case.POD_LOST, 3)
    worst = max(range(5), key=made.shares.__getitem__)
    early = [job for job in made.jobs if SMALL.warm_up <= job.at < SMALL.window - 1]
    outcome = simulate(way, made, Case.POD_LOST, 3, assumed=SMALL)
    assert outcome.barred == pytest.approx(sum(job.pod == worst for job in early) / len(early))


@pytest.mark.parametrize(("way", "least"), [("one daemon", 1.0), ("push", 1.0), ("two-phase, marked", 1.0)])
def test_a_lost_centre_bars_all(way: str, least: float) -> None:
    made = load(SMALL, 5, Case.CENTRE_LOST, 3)
    assert simulate(way, made, Case.CENTRE_LOST, 3, assumed=SMALL).barred == least


def test_a_daemon_is_as_busy_as_its_work_adds_up_to() -> None:
    busy = replace(ASSUMED, window=20.0)
    outcome = simulate("one daemon", load(busy, 10, Case.USUAL, 3), Case.USUAL, 3, assumed=busy)
    ready = busy.rate * busy.job * (1 / busy.utilisation - 1)
    cores = busy.rate * (COSTS.request + COSTS.claim) + ready / busy.held * COSTS.renewal
    assert outcome.centre == pytest.approx(cores / busy.central_cores, rel=0.04)


def test_a_lone_table_is_claimed_from_in_vain_only_where_nothing_is_marked() -> None:
    made = load(SMALL, 5, Case.BIG, 3)
    assert simulate("two-phase", made, Case.BIG, 3, assumed=SMALL).in_vain > 0
    assert simulate("two-phase, marked", made, Case.BIG, 3, assumed=SMALL).in_vain == 0


def test_a_seed_gives_the_same_and_another_one_does_not() -> None:
    assert pooled(3, 0.5, 5, SMALL) == pooled(3, 0.5, 5, SMALL) != pooled(3, 0.5, 6, SMALL)
    assert load(SMALL, 5, Case.BIG, 3) == load(SMALL, 5, Case.BIG, 3) != load(SMALL, 5, Case.BIG, 4)


@pytest.mark.parametrize("spread", [0.0, 1.0])
def test_jobs_have_a_runner_or_wait_for_one(spread: float) -> None:
    found = pooled(3, spread, 5, SMALL)
    assert found.jobs == found.handed + found.waiting
    assert found.runners >= SMALL.rate * SMALL.job / SMALL.utilisation


def test_the_big_organisation_makes_its_share() -> None:
    made = load(ASSUMED, 10, Case.BIG, 1)
    usual = places(ASSUMED, 10, Random(1)).shares(10)
    assert sum(made.shares) == pytest.approx(1)
    assert made.shares[made.home] == pytest.approx(usual[made.home] * 0.95 + 0.05)
    assert len(made.jobs) == pytest.approx(ASSUMED.rate * ASSUMED.window, rel=0.05)


def test_costs_follow_from_each_other() -> None:
    assert COSTS.claim_in_database < COSTS.claim < COSTS.whole
    assert COSTS.write < COSTS.look


def test_a_percentile_is_one_of_the_values() -> None:
    assert percentile([3.0, 1.0, 2.0], 0.5) == 2.0
    assert percentile([float(number) for number in range(100)], 0.99) == 99.0
