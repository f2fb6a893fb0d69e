"""Which runner comes nearest to taking a job, and what it lacks."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.pipelines.stuck import Lack, stuck
from domain.runners.matching import Candidate, Demand, RunnerType
from domain.runners.named_runner import NamedRunner
from domain.runners.nearest import nearest
from tests.domain.runners.crowd import DEMANDS, RUNNERS


def runner(number: int, *tags: str, **values: object) -> NamedRunner:
    return NamedRunner(number, f"r{number}", Candidate(tags=frozenset(tags), **values))  # type: ignore[arg-type]


def wanting(*tags: str) -> Demand:
    return Demand(1, 1, frozenset(tags))


PROTECTED_OFFLINE = "takes only jobs of protected refs and is offline"
FOREIGN = NamedRunner(9, "secret", Candidate(RunnerType.PROJECT, 1, frozenset({2}), frozenset({"gpu"})))


def test_runners_of_others_are_never_named() -> None:
    assert nearest(wanting("gpu"), [FOREIGN]) is None
    found = nearest(wanting("gpu"), [FOREIGN, runner(1)])
    assert found is not None
    assert (found.runner.id, found.missing) == (1, ("gpu",))


@pytest.mark.parametrize(
    ("tags", "runners", "number", "words"),
    [
        (("a", "b"), [runner(1), runner(2, "a")], 2, "lacks b"),
        (("a",), [runner(1, paused=True), runner(2)], 2, "lacks a"),
        (("a",), [runner(1, "a", paused=True), runner(2)], 1, "is paused"),
        (("a",), [runner(1, "a", paused=True, online=False)], 1, "is paused and is offline"),
        (("a",), [runner(1, "a", paused=True, online=False), runner(2)], 1, "is paused and is offline"),
        (("a",), [runner(1, "a", ref_protected=True, online=False), runner(2)], 1, PROTECTED_OFFLINE),
        (("linx",), [runner(1), runner(2, "linux", paused=True)], 2, "lacks linx (it has linux) and is paused"),
        (("a",), [runner(1), runner(2)], 1, "lacks a"),
        (("linux",), [runner(1, "mac"), runner(2, "linx")], 2, "lacks linux (it has linx)"),
        ((), [runner(1, "a", run_untagged=False)], 1, "takes no jobs without tags"),
        (("a",), [runner(1, "a", ref_protected=True)], 1, "takes only jobs of protected refs"),
    ],
)
def test_the_one_that_lacks_least_is_nearest(
    tags: tuple[str, ...], runners: list[NamedRunner], number: int, words: str
) -> None:
    found = nearest(wanting(*tags), runners)
    assert found is not None
    assert (found.runner.id, found.words) == (number, words)


@pytest.mark.parametrize(
    ("wanted", "tag", "similar"),
    [
        ("windows-shared", "windows-shared-1", True),
        ("Windows_Shared", "windows-shared", True),
        ("linux", "linx", True),
        ("linux", "linuxx", True),
        ("linux", "lynux", True),
        ("mac", "macos", True),
        ("x", "xl", False),
        ("a", "b", False),
        ("linux", "docker", False),
        ("arm64", "amd64", False),
    ],
)
def test_a_slip_of_the_pen_is_seen(wanted: str, tag: str, similar: bool) -> None:
    found = nearest(wanting(wanted), [runner(1, tag)])
    assert found is not None
    assert found.similar == (tag if similar else "")


WORDS = {
    Lack.UNTAGGED: "takes no jobs without tags",
    Lack.TRUST: "takes only jobs of protected refs",
    Lack.PERMISSION: "runs jobs as the server's user, which this project may not",
    Lack.RESUMED: "is paused",
    Lack.ONLINE: "is offline",
}


def test_no_runner_lacks_what_an_archived_project_lacks() -> None:
    demand = replace(wanting("linux"), archived=True)
    assert nearest(demand, [runner(1, "mac")]) is None


@given(DEMANDS, st.lists(RUNNERS, max_size=5))
def test_the_nearest_runner_lacks_what_is_said_to_be_lacking(demand: Demand, candidates: list[Candidate]) -> None:
    """What is advised of it (resume it, start it) is then what lets the job run, or the first step to that."""
    found = stuck(demand, candidates)
    near = nearest(demand, [NamedRunner(number, "", one) for number, one in enumerate(candidates)])
    if found is None or found.lack in {Lack.RUNNERS, Lack.REACH}:
        return
    assert near is not None
    if found.lack is Lack.TAGS:
        assert near.missing
    else:
        assert not near.missing
        assert near.lacks[0] == WORDS[found.lack]
