"""Where a job stands in the queue: as the runners would take the jobs one after the other."""

from collections.abc import Mapping, Sequence

from hypothesis import given
from hypothesis import strategies as st

from domain.runners.matching import Candidate, Demand, RunnerType, Waiting, next_job
from domain.runners.places import Place, Queued
from tests.growth import assert_linear

INSTANCE = Candidate()
OWN = Candidate(RunnerType.PROJECT, 1, frozenset({1, 2, 3}))
DEMANDS = {number: Demand(number, 1) for number in (1, 2, 3)}


def place(queue: Mapping[int, Sequence[int]], job_id: int, runner: Candidate, **loads: int) -> Place | None:
    found = Queued(DEMANDS, queue, [runner], {int(key[1:]): load for key, load in loads.items()})
    demand_id = next((key for key, jobs in queue.items() if job_id in jobs), 1)
    return found.place(job_id, DEMANDS[demand_id])


def test_the_oldest_comes_first_at_a_runner_of_projects() -> None:
    queue = {1: [1, 2, 6], 2: [3], 3: [4, 5]}
    assert [place(queue, job_id, OWN) for job_id in (1, 3, 6)] == [Place(1, 6), Place(3, 6), Place(6, 6)]


def test_instance_runners_share_out_their_turns() -> None:
    queue = {1: [1, 2, 6], 2: [3], 3: [4, 5]}
    assert place(queue, 2, INSTANCE) == Place(4, 6)
    assert place(queue, 3, INSTANCE, _2=5) == Place(6, 6)


def test_nobody_stands_in_a_queue_that_no_runner_looks_at() -> None:
    assert place({1: [1]}, 1, Candidate(tags=frozenset({"a"}), run_untagged=False)) is None
    assert place({1: [1]}, 1, Candidate(online=False)) is None
    assert place({1: [1]}, 1, Candidate(paused=True)) is None
    assert place({1: [1]}, 2, INSTANCE) is None


def test_jobs_that_no_runner_of_this_one_takes_do_not_count() -> None:
    demands = {1: Demand(1, 1), 2: Demand(2, 1, frozenset({"mac"}))}
    runners = [Candidate(), Candidate(tags=frozenset({"mac"}), run_untagged=False)]
    assert Queued(demands, {1: [2], 2: [1]}, runners, {}).place(2, demands[1]) == Place(1, 1)


@st.composite
def queues(draw: st.DrawFn) -> tuple[dict[int, list[int]], dict[int, int]]:
    """Jobs of three projects, each with a load."""
    projects = draw(st.lists(st.sampled_from([1, 2, 3]), min_size=1, max_size=12))
    found: dict[int, list[int]] = {}
    for job_id, project_id in enumerate(projects, 1):
        found.setdefault(project_id, []).append(job_id)
    return found, draw(st.dictionaries(st.sampled_from([1, 2, 3]), st.integers(0, 4)))


@given(queues(), st.sampled_from([INSTANCE, OWN]))
def test_the_place_is_when_the_runner_would_come_to_it(
    given_queue: tuple[dict[int, list[int]], dict[int, int]], runner: Candidate
) -> None:
    queue, loads = given_queue
    waiting = [Waiting(job_id, DEMANDS[project_id]) for project_id, jobs in queue.items() for job_id in jobs]
    running = dict(loads)
    order: list[int] = []
    while (job_id := next_job(waiting, runner, running)) is not None:
        (taken,) = [one for one in waiting if one.job_id == job_id]
        waiting.remove(taken)
        running[taken.demand.project_id] = running.get(taken.demand.project_id, 0) + 1
        order.append(job_id)
    found = Queued(DEMANDS, queue, [runner], loads)
    places = {job_id: found.place(job_id, DEMANDS[key]) for key, jobs in queue.items() for job_id in jobs}
    assert places == {job_id: Place(number, len(order)) for number, job_id in enumerate(order, 1)}


def test_places_of_a_pipeline_cost_what_its_jobs_do() -> None:
    """All of them ask for something else, and each project has a runner of its own."""

    def work(size: int) -> object:
        runners = [Candidate(RunnerType.PROJECT, 1, frozenset({number})) for number in range(size)]
        demands = {number: Demand(number, 1) for number in range(size)}
        return lambda: Queued(demands, {1: list(range(size))}, runners, {}).place(size - 1, demands[1])

    assert_linear(work, 1_000)  # type: ignore[arg-type]
