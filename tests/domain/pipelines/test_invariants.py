"""Rules that stored pipelines keep: their words, and what is compared with Temporal."""

import pytest

from domain.pipelines.invariants import WORDS, Broken, Rule, against_temporal, confirmed


@pytest.mark.parametrize("rule", Rule)
def test_every_rule_says_what_is_wrong_and_what_to_do(rule: Rule) -> None:
    one = Broken(rule, 17, "4", "running")
    assert "17" in one.sentence
    assert one.remedy
    assert "{" not in one.sentence + one.remedy


def test_there_is_no_word_without_a_rule() -> None:
    assert set(WORDS) == set(Rule)


def test_what_only_one_look_found_was_on_its_way() -> None:
    stays, went, came = (Broken(Rule.VERDICT_UNFOLDED, number, str(number)) for number in (1, 2, 3))
    assert confirmed([stays, went], [came, stays]) == [stays]


def test_pipelines_and_workflows_are_of_each_other() -> None:
    live = {1: "running", 2: "manual"}
    known = {1: "running", 3: "success", 4: "failed", 5: "failed", 6: "created"}
    found = against_temporal(live, known, running={1, 3, 4, 5, 6, 7}, may_wait={5})
    assert [(one.rule, one.pipeline_id, one.detail) for one in found] == [
        (Rule.PIPELINE_WITHOUT_WORKFLOW, 2, "manual"),
        (Rule.WORKFLOW_WITHOUT_PIPELINE, 3, "success"),
        (Rule.WORKFLOW_WITHOUT_PIPELINE, 4, "failed"),
        (Rule.WORKFLOW_WITHOUT_PIPELINE, 7, "not there"),
    ]
