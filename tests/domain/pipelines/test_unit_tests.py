"""By what tests are known, and what a report says of each."""

from dataclasses import dataclass, replace

from hypothesis import given
from hypothesis import strategies as st

from domain.pipelines.unit_tests import MANY_FAILURES, has_many_failures, key_of, results_of, suite_of
from tests.growth import assert_linear


@dataclass(frozen=True)
class Case:
    name: str = "n"
    classname: str = "c"
    file: str = ""
    seconds: float = 1.5
    status: str = "success"


def test_instances_of_a_parallel_job_share_a_suite_and_those_of_a_matrix_do_not() -> None:
    names = ["unit", "unit 1/3", "unit 12/30", "unit: [linux, arm]", "unit: [mac]"]
    assert [suite_of(name) for name in names] == ["unit", "unit", "unit", "unit: [linux, arm]", "unit: [mac]"]


@given(st.tuples(*[st.text("a,\n1", max_size=4)] * 3), st.tuples(*[st.text("a,\n1", max_size=4)] * 3))
def test_only_the_same_test_has_the_same_key(one: tuple[str, str, str], other: tuple[str, str, str]) -> None:
    assert (key_of(*one) == key_of(*other)) is (one == other)


def test_of_one_that_is_there_more_than_once_the_worst_counts() -> None:
    cases = [Case(status=status) for status in ("success", "error", "success", "failed", "skipped")]
    (found,) = results_of("unit 1/2", cases)
    assert (found.suite, found.status, found.seconds) == ("unit", "error", 1.5)
    assert results_of("unit", [Case(status="skipped")]) == []


def test_long_texts_are_cut_and_tests_that_begin_alike_stay_apart() -> None:
    long = "x" * 10_000
    cases = [Case(name=long + end, classname=long, file=long) for end in "ab"]
    found = results_of("unit", cases)
    assert [len(text) for text in (found[0].name, found[0].classname, found[0].file)] == [1000, 1000, 1000]
    assert len({result.key for result in found}) == 2
    assert [result.key for result in found] == sorted(result.key for result in found)


def test_what_no_text_of_a_database_can_be_has_a_key() -> None:
    assert len(key_of("\udc80", "‮<script>", "\0")) == 32


def test_many_failures_are_more_than_two_hundred() -> None:
    (bad,) = results_of("unit", [Case(status="failed")])
    assert not has_many_failures([bad] * MANY_FAILURES)
    assert has_many_failures([bad, replace(bad, status="error")] * (MANY_FAILURES // 2 + 1))


def test_a_report_costs_what_its_length_does() -> None:
    def made(size: int) -> object:
        cases = [Case(name=f"n{number % (size // 2)}", status="failed") for number in range(size)]
        return lambda: results_of("unit", cases)

    assert_linear(made, 2000)  # type: ignore[arg-type]
