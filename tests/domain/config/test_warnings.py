"""What is accepted with a warning: the plan is GitLab's, and who wrote it is told what they may not have meant."""

import pytest

from tests.compiling import plan_of
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
        ("pages: {script: x}", (1, 1), "pages job: its folder `public` is kept as an artifact; this version of"),
        (
            "site:\n  script: x\n  parallel: 3\n  pages: {publish: out}\n",
            (4, 3),
            "site job: its folder `out` is kept as an artifact; this version of Perdure hosts no pages yet",
        ),
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
        "pages: {script: x, pages: false}",
        "a: {script: x}\npages: {script: x, rules: [{if: $CI_COMMIT_TAG}]}",
    ],
)
def test_no_reason_to_warn(text: str) -> None:
    assert plan(text).warnings == ()


@pytest.mark.parametrize(
    ("included", "jobs", "lines"),
    [
        ("spec: {}\n---\na: {script: x}\n---\nb: {script: y}\n", {"a", "d"}, [5]),
        ("a: {script: x}\n---\nb: {script: y}\n---\nc: {script: z}\n", {"a", "d"}, [3, 5]),
    ],
)
def test_a_third_document_of_an_included_file(included: str, jobs: set[str], lines: list[int]) -> None:
    found = plan_of("include: {local: /in.yml}\nd: {script: x}", files={"in.yml": included})
    assert {job.name for job in found.jobs} == jobs
    assert [(warning.file, warning.line) for warning in found.warnings] == [("in.yml", line) for line in lines]
    assert "this third document" in found.warnings[-1].message


@pytest.mark.parametrize(
    ("included", "said"),
    [("a: {script: x, script: y}", "written twice"), ("a: {script: !shell x}", "the YAML tag !shell")],
)
def test_what_is_odd_in_an_included_file_is_told_once(included: str, said: str) -> None:
    found = plan_of("include: [/in.yml, /in.yml]\nd: {script: x}", files={"in.yml": included})
    (warning,) = found.warnings
    assert (said in warning.message, warning.file, warning.line) == (True, "in.yml", 1)
