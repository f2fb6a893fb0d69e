"""Results that are too large are told without what makes them so."""

from typing import Any

from domain.steps.fitting import MAX_TEXT, MAX_TOLD_NESTED, TOO_LARGE, smaller


def within(levels: int) -> dict[str, Any]:
    """Results within one another."""
    found: dict[str, Any] = {"name": "inner", "outputs": {"x": 1}}
    for level in range(levels):
        found = {"name": f"s{level}", "subStepResults": [found]}
    return found


def depth(document: dict[str, Any]) -> int:
    return 1 + max((depth(one) for one in document.get("subStepResults", ())), default=0)


def test_what_fits_is_told_as_it_is() -> None:
    document = within(3)
    assert next(smaller(document)) == document


def test_results_far_within_are_left_out() -> None:
    assert depth(next(smaller(within(64)))) == MAX_TOLD_NESTED + 1


def test_less_and_less_is_told_and_always_what_became_of_the_step() -> None:
    document = {
        "name": "a" * 5_000,
        "step": "./a",
        "status": "failure",
        "message": "because" * 1_000,
        "hasSensitive": True,
        "inputs": {"x": 1},
        "outputs": {"x": 1},
        "env": {"A": "x"},
        "execResult": {"command": ["a"], "workDir": "/b", "exitCode": 3},
        "subStepResults": [{"name": "b"}],
    }
    whole, alone, bare = smaller(document)
    assert whole == document
    assert alone == {name: value for name, value in document.items() if name != "subStepResults"}
    assert bare == {
        "name": "a" * MAX_TEXT,
        "step": "./a",
        "status": "failure",
        "hasSensitive": True,
        "message": f"{('because' * 1_000)[:MAX_TEXT]}; {TOO_LARGE}",
        "execResult": {"workDir": "/b", "exitCode": 3},
    }


def test_without_a_sentence_of_its_own_it_says_that_alone() -> None:
    *_, bare = smaller({"name": "a", "status": "success", "outputs": {"x": 1}})
    assert bare == {"name": "a", "status": "success", "message": TOO_LARGE}
