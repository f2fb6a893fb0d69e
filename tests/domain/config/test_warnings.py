"""What is accepted with a warning: the plan is GitLab's, and who wrote it is told what they may not have meant."""

import pytest

from tests.domain.config.short_texts import plan


@pytest.mark.parametrize(
    ("text", "place", "said"),
    [
        (
            "a: {script: x}\nb: {script: y}\na: {script: z}",
            (3, 1),
            "`a` is written twice, here and in line 1: only",
        ),
        ("a:\n  script: x\n  tags: [b]\n  tags: [c]", (4, 3), "`tags` is written twice, here and in line 3"),
        ("a: {script: !shell x}", (1, 13), "the YAML tag !shell means nothing here and is ignored"),
        ("a: {script: x, tags: !mine [b]}", (1, 22), "the YAML tag !mine means nothing"),
        ("default: {timeout: 1h}\na: {script: x}", (1, 11), "default:timeout holds for every job here; GitLab"),
        ("a: {script: x}\nb: {script: x, parallel: {matrix: []}}", (2, 16), "b job: its matrix has no combination"),
        ("a: {script: x, environment: {name: b, auto_stop_in: soon}}", (1, 39), "'soon' is not a duration"),
    ],
)
def test_warned_of(text: str, place: tuple[int, int], said: str) -> None:
    (warning,) = plan(text).warnings
    assert said in warning.message
    assert (warning.line, warning.column) == place


@pytest.mark.parametrize(
    "text",
    [
        ".b: &b {script: x, tags: [b]}\na: {<<: *b, tags: [c]}",
        ".b: &b {script: x}\na: {script: y, <<: *b}",
        "a: {script: x, environment: {name: b, auto_stop_in: $SOON}}",
        "a: {script: x, environment: {name: b, auto_stop_in: never}}",
    ],
)
def test_no_reason_to_warn(text: str) -> None:
    assert plan(text).warnings == ()
