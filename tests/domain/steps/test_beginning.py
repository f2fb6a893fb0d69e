"""Where a new attempt of a job with steps begins."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.errors import Refused
from domain.steps.beginning import ERASED, GONE, NEVER, NOT_ENDED, Beginning, Missing, begin_at, unreadable
from domain.steps.kept_results import KeptStep

RUN = [{"name": name, "script": "x"} for name in ("hello", "shout", "whisper")]


def kept(name: str, status: str = "success", *, is_kept: bool = True) -> KeptStep:
    """A step that gave its name."""
    given = {"of": name} if is_kept else {}
    return KeptStep(name, status, is_kept, given, dict(given))


ALL = (kept("hello"), kept("shout"), kept("whisper", "failed"))
DONE = {name: {"outputs": {"of": name}, "exports": {"of": name}} for name in ("hello", "shout")}


@pytest.mark.parametrize("asked", ["whisper", "3"])
def test_a_step_is_named_or_numbered_and_all_before_it_are_done(asked: str) -> None:
    beginning = begin_at(RUN, ALL, asked)
    assert beginning == Beginning("whisper", DONE)
    assert list(beginning.done) == ["hello", "shout"]


@pytest.mark.parametrize("asked", ["hello", "1"])
@pytest.mark.parametrize("results", [NEVER, NOT_ENDED, (), (kept("else"),), ALL])
def test_nothing_needs_to_be_known_for_the_first_step(asked: str, results: Any) -> None:
    assert begin_at(RUN, results, asked) == Beginning("hello", {})


def test_a_name_of_digits_comes_before_a_number() -> None:
    run = [{"name": "2"}, {"name": "b"}, {"name": "1"}]
    assert begin_at(run, NEVER, "2").step == "2"
    assert begin_at(run, (kept("2"), kept("b")), "1").step == "1"
    assert begin_at(run, (kept("2"), kept("b")), "3").step == "1"


def test_a_job_without_steps_has_none_to_begin_at() -> None:
    with pytest.raises(Refused, match="The job has no `run`, so there is no step to begin at"):
        begin_at([], NEVER, "1")


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("shuot", "no step 'shuot'; did you mean `shout`? Its steps are hello (1), shout (2), whisper (3)."),
        ("4", "no step '4'. Its steps are hello (1), shout (2), whisper (3)."),
        ("0", "no step '0'. "),
        ("-1", "no step '-1'. "),
        ("\u0663", "no step '\u0663'. "),
        ("9" * 5_000, f"no step '{'9' * 80}'. "),
        ("", "no step ''. "),
        ("\n", r"no step '\n'. "),
    ],
)
def test_what_is_no_step_is_told_with_those_that_are(asked: str, said: str) -> None:
    with pytest.raises(Refused) as raised:
        begin_at(RUN, ALL, asked)
    assert str(raised.value).startswith(f"The job has {said}")


def test_of_many_steps_some_are_told() -> None:
    with pytest.raises(Refused, match=r"s19 \(20\) and 80 more\.$"):
        begin_at([{"name": f"s{number}"} for number in range(100)], (), "x")


@pytest.mark.parametrize("missing", [NOT_ENDED, NEVER, ERASED, GONE, unreadable("the file is no JSON")])
def test_results_that_are_not_there_are_told_with_why(missing: Missing) -> None:
    with pytest.raises(Refused) as raised:
        begin_at(RUN, missing, "shout")
    assert str(raised.value) == (
        "The job cannot begin at step 'shout': nothing is known of the steps before it, "
        f"since {missing.why}. Retry the job without from_step."
    )


@pytest.mark.parametrize(
    "results", [(kept("else"),), (kept("shout"), kept("hello")), (*ALL, kept("more")), (kept("hello"), kept("else"))]
)
def test_results_of_other_steps_are_none(results: tuple[KeptStep, ...]) -> None:
    with pytest.raises(Refused, match="cannot be used: its steps are not those of the job"):
        begin_at(RUN, results, "shout")


@pytest.mark.parametrize(
    ("results", "said"),
    [
        ((), "step 'hello' before it did not run. Begin at 'hello' or before."),
        ((kept("hello"),), "step 'shout' before it did not run. Begin at 'shout' or before."),
        (
            (kept("hello"), kept("shout", "failed")),
            "step 'shout' before it did not succeed. Begin at 'shout' or before.",
        ),
        ((kept("hello", "Success"), kept("shout")), "step 'hello' before it did not succeed."),
        (
            (kept("hello", is_kept=False), kept("shout")),
            "step 'hello' before it gave something sensitive, which is not kept. Begin at 'hello' or before.",
        ),
        ((kept("hello", "failed", is_kept=False), kept("shout")), "step 'hello' before it did not succeed."),
    ],
)
def test_a_step_before_that_is_not_done_is_told(results: tuple[KeptStep, ...], said: str) -> None:
    with pytest.raises(Refused) as raised:
        begin_at(RUN, results, "whisper")
    assert said in str(raised.value)


NAMES = st.lists(st.from_regex(r"[a-z]{1,4}", fullmatch=True) | st.sampled_from("123"), unique=True, max_size=5)


@st.composite
def attempts(draw: st.DrawFn) -> tuple[list[str], tuple[KeptStep, ...], str]:
    """Steps of a job, what is known of some, mostly in their order, and what is asked for, mostly one of them."""
    names = draw(NAMES)
    begun = draw(st.permutations(names) | st.just(names))[: draw(st.integers(0, 5))]
    statuses = st.sampled_from(["success", "success", "failed", "canceled"])
    results = tuple(kept(name, draw(statuses), is_kept=draw(st.sampled_from([True, True, False]))) for name in begun)
    return names, results, draw(st.sampled_from([*names, *names, "1", "2", "3", "4", "9", "none"]))


@given(attempts())
def test_an_attempt_begins_behind_what_is_done_and_nowhere_else(
    attempt: tuple[list[str], tuple[KeptStep, ...], str],
) -> None:
    names, results, asked = attempt
    place = names.index(asked) if asked in names else int(asked) - 1 if asked.isdigit() else len(names)
    is_step = place < len(names)
    done = {one.name for one in results if one.status == "success" and one.is_kept}
    is_in_order = [one.name for one in results] == names[: len(results)]
    may_begin = is_step and (place == 0 or (is_in_order and done.issuperset(names[:place])))
    try:
        beginning = begin_at([{"name": name} for name in names], results, asked)
    except Refused:
        assert not may_begin
    else:
        assert may_begin
        assert beginning.step == names[place]
        assert list(beginning.done) == names[:place]
        assert all(
            given == {"outputs": {"of": name}, "exports": {"of": name}} for name, given in beginning.done.items()
        )
