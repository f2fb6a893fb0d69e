"""What came, what went and what stayed between the reports of two pipelines."""

from collections.abc import Iterable, Mapping
from types import SimpleNamespace
from typing import Any

from domain.pipelines.report_comparison import compare_coverage, compare_findings, compare_tests, nearest


def case(name: str, status: str, suite: str = "unit") -> dict[str, str]:
    return {"suite": suite, "classname": "C", "name": name, "status": status}


def names(cases: Iterable[Mapping[str, Any]]) -> list[str]:
    return [one["name"] for one in cases]


def test_failures_are_new_fixed_or_known() -> None:
    base = [case("a", "success"), case("b", "failed"), case("c", "error"), case("gone", "failed")]
    head = [
        case("a", "failed"),
        case("b", "success"),
        case("c", "failed"),
        case("fresh", "error"),
        case("d", "skipped"),
    ]
    found = compare_tests(base, head)
    assert (names(found.new), names(found.fixed), names(found.existing)) == (["a", "fresh"], ["b"], ["c"])
    assert found.total == 5


def test_the_same_name_in_another_suite_is_another_case() -> None:
    found = compare_tests([case("a", "failed", "unit")], [case("a", "failed", "system")])
    assert (names(found.new), names(found.existing)) == (["a"], [])


def test_a_case_that_is_there_twice_fails_if_one_does() -> None:
    found = compare_tests([], [case("a", "failed"), case("a", "success")])
    assert (names(found.new), found.total) == (["a"], 1)


def test_without_a_base_all_failures_are_new() -> None:
    assert names(compare_tests([], [case("a", "failed")]).new) == ["a"]


def test_findings_are_known_by_fingerprint_and_counted() -> None:
    one, two = {"fingerprint": "1", "line": 1}, {"fingerprint": "2", "line": 2}
    found = compare_findings([one, two], [{**two, "line": 9}, two, {"fingerprint": "3"}])
    assert ([entry["fingerprint"] for entry in found.new], found.existing) == (["2", "3"], 1)
    assert found.fixed == [one]


def test_findings_without_a_fingerprint_are_known_by_what_they_say() -> None:
    before = {"fingerprint": "", "description": "x", "file": "a.py", "line": 1}
    found = compare_findings([before], [{**before, "line": 20}])
    assert (found.new, found.fixed, found.existing) == ([], [], 1)


def test_coverage_is_that_of_all_reports() -> None:
    found = compare_coverage([{"lines": 10, "covered": 5}], [{"lines": 10, "covered": 9}, {"lines": 10, "covered": 4}])
    assert (found.base, found.head, found.change) == (50.0, 65.0, 15.0)
    assert compare_coverage([], [{"lines": 0, "covered": 0}]).change is None


def test_the_nearest_pipeline_is_the_newest_of_the_first_commit_that_has_one() -> None:
    rows = [SimpleNamespace(sha=sha, id=key) for sha, key in (("b", 9), ("c", 8), ("b", 7))]
    found = nearest(["a", "b", "c"], rows, lambda row: row.sha)
    assert found is not None
    assert found.id == 9
    assert nearest(["a"], rows, lambda row: row.sha) is None
