"""The queue by tag sets: all of it, and what somebody sees who only has projects."""

from domain.runners.matching import Candidate, Demand, RunnerType
from domain.runners.named_runner import NamedRunner
from domain.runners.tag_set_queues import Lately, RunnerTally, tag_set_queues
from domain.runners.waits import Waits
from tests.growth import assert_linear

GPU = frozenset({"gpu"})
SHARED = NamedRunner(1, "shared", Candidate(tags=GPU), holds=2)
PAUSED = NamedRunner(2, "", Candidate(tags=GPU, paused=True))
SILENT = NamedRunner(3, "", Candidate(tags=GPU, online=False))
OF_TWO = NamedRunner(4, "secret", Candidate(RunnerType.PROJECT, 1, frozenset({2}), GPU))


def test_everything_is_told_by_tags() -> None:
    found = [
        Lately(Demand(1, 1, GPU), 2, 30.0, (1.0, 2.0)),
        Lately(Demand(2, 1, GPU), 1, 60.0, (3.0,)),
        Lately(Demand(1, 1, frozenset({"mac"})), 4, 90.0),
        Lately(Demand(3, 1), 0, 0.0, (5.0,)),
    ]
    mac, gpu, plain = tag_set_queues(found, [SHARED, PAUSED, SILENT, OF_TWO], None)
    assert (mac.tags, mac.jobs, mac.stuck, mac.why) == (("mac",), 4, 4, "No runner of this project has the tag mac.")
    assert (mac.waits, mac.runners) == (None, RunnerTally())
    assert (gpu.tags, gpu.jobs, gpu.own, gpu.waited, gpu.stuck, gpu.why) == (("gpu",), 3, 3, 60.0, 0, "")
    assert gpu.waits == Waits(3, 2.0, 3.0)
    assert gpu.runners == RunnerTally(online=2, busy=1, paused=1, offline=1, jobs=2)
    assert (plain.tags, plain.jobs, plain.waited, plain.waits) == ((), 0, 0.0, Waits(1, 5.0, 5.0))


def test_others_see_what_their_own_jobs_compete_with() -> None:
    found = [
        Lately(Demand(1, 1, GPU), 1, 30.0),
        Lately(Demand(2, 1, GPU), 5, 60.0, (3.0,)),
        Lately(Demand(2, 1, frozenset({"secret"})), 5, 60.0),
    ]
    (gpu,) = tag_set_queues(found, [SHARED, OF_TWO], {1})
    assert (gpu.jobs, gpu.own, gpu.waited, gpu.waits) == (6, 1, 60.0, Waits(1, 3.0, 3.0))
    assert gpu.runners == RunnerTally(online=1, busy=1, jobs=2)


def test_others_do_not_see_what_other_runners_take() -> None:
    own = NamedRunner(5, "", Candidate(RunnerType.PROJECT, 1, frozenset({1}), GPU))
    found = [Lately(Demand(1, 1, GPU), 1, 30.0), Lately(Demand(2, 1, GPU), 5, 60.0, (3.0,))]
    (gpu,) = tag_set_queues(found, [own, OF_TWO], {1})
    assert (gpu.jobs, gpu.waited, gpu.waits, gpu.runners.online) == (1, 30.0, None, 1)
    assert tag_set_queues(found, [own, OF_TWO], set()) == []


def test_the_reason_is_never_that_of_others() -> None:
    stranger = Demand(2, 1, GPU, others=True, project_path="secret/project")
    server = NamedRunner(1, "", Candidate(tags=GPU, as_server=True))
    found = [Lately(Demand(1, 1, GPU, others=True, project_path="own/project"), 1, 1.0), Lately(stranger, 1, 60.0)]
    (gpu,) = tag_set_queues(found, [server], {1})
    assert "secret" not in gpu.why
    assert "own/project" in gpu.why


def test_the_queue_costs_what_its_demands_do() -> None:
    def work(size: int) -> object:
        runners = [
            NamedRunner(number, "", Candidate(RunnerType.PROJECT, 1, frozenset({number}))) for number in range(size)
        ]
        found = [Lately(Demand(number, 1), 1, 1.0) for number in range(size)]
        return lambda: tag_set_queues(found, runners, None)

    assert_linear(work, 500)  # type: ignore[arg-type]
