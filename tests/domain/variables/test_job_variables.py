"""Job variables at hand-out."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from itertools import chain
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from domain.errors import Invalid
from domain.variables.job_variables import JobFacts, JobVariable, expand, group_name, merge, predefined
from domain.variables.predefined import slug

FACTS = JobFacts(
    server_url="http://ci.example:8929",
    project_id=7,
    project_name="My Shop",
    project_path="acme/web/Shop_1",
    project_url="http://ci.example:8929/acme/web/Shop_1",
    default_branch="main",
    pipeline_id=70,
    pipeline_iid=3,
    pipeline_source="push",
    pipeline_url="http://ci.example:8929/acme/web/Shop_1/-/pipelines/70",
    pipeline_created_at=datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC),
    ref="Feature/Äpfel",
    is_tag=False,
    ref_protected=False,
    sha="0123456789abcdef0123456789abcdef01234567",
    before_sha="0" * 40,
    commit_message="Title $HOME\n\nMore\nwords\n",
    commit_author="Ann <ann@example.com>",
    commit_timestamp=datetime(2026, 1, 2, 5, 4, 5, tzinfo=timezone(timedelta(hours=2))),
    job_id=700,
    job_name="unit: [linux, 3.11]",
    job_stage="test",
    job_url="http://ci.example:8929/acme/web/Shop_1/-/jobs/700",
    job_token="secret",
    repository_url="http://gitlab-ci-token:secret@ci.example:8929/acme/web/Shop_1.git",
    runner_id=9,
    runner_description="box",
    runner_tags=("docker", "linux"),
    user_id=5,
    user_login="ann",
    user_name="Ann",
    user_email="ann@example.com",
)


def values(facts: JobFacts) -> dict[str, str]:
    return {variable.key: variable.value for variable in predefined(facts)}


def expanded(*pairs: tuple[str, str], **raw: str) -> dict[str, str]:
    """Expand ordinary variables and raw ones."""
    given = [JobVariable(key, value) for key, value in pairs]
    given += [JobVariable(key, value, raw=True) for key, value in raw.items()]
    return {variable.key: variable.value for variable in expand(given)}


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("CI", "true"),
        ("CI_SERVER_HOST", "ci.example"),
        ("CI_SERVER_PORT", "8929"),
        ("CI_SERVER_PROTOCOL", "http"),
        ("CI_API_V4_URL", "http://ci.example:8929/api/v4"),
        ("CI_PROJECT_NAME", "Shop_1"),
        ("CI_PROJECT_TITLE", "My Shop"),
        ("CI_PROJECT_NAMESPACE", "acme/web"),
        ("CI_PROJECT_ROOT_NAMESPACE", "acme"),
        ("CI_PROJECT_PATH_SLUG", "acme-web-shop-1"),
        ("CI_PIPELINE_IID", "3"),
        ("CI_PIPELINE_CREATED_AT", "2026-01-02T03:04:05Z"),
        ("CI_COMMIT_BRANCH", "Feature/Äpfel"),
        ("CI_COMMIT_REF_SLUG", "feature--pfel"),
        ("CI_COMMIT_REF_PROTECTED", "false"),
        ("CI_COMMIT_SHORT_SHA", "01234567"),
        ("CI_COMMIT_TITLE", "Title $HOME"),
        ("CI_COMMIT_DESCRIPTION", "More\nwords"),
        ("CI_COMMIT_TIMESTAMP", "2026-01-02T03:04:05Z"),
        ("CI_JOB_ID", "700"),
        ("CI_JOB_NAME_SLUG", "unit---linux--3-11"),
        ("CI_JOB_GROUP_NAME", "unit"),
        ("CI_NODE_TOTAL", "1"),
        ("CI_RUNNER_TAGS", '["docker", "linux"]'),
        ("GITLAB_USER_LOGIN", "ann"),
    ],
)
def test_predefined(key: str, value: str) -> None:
    assert values(FACTS)[key] == value


@pytest.mark.parametrize(
    ("changes", "present", "absent"),
    [
        ({}, {"CI_COMMIT_BRANCH"}, {"CI_COMMIT_TAG", "CI_JOB_MANUAL", "CI_NODE_INDEX", "CI_PIPELINE_TRIGGERED"}),
        ({"is_tag": True, "ref": "v1"}, {"CI_COMMIT_TAG"}, {"CI_COMMIT_BRANCH"}),
        ({"pipeline_source": "merge_request_event"}, {"CI_COMMIT_REF_NAME"}, {"CI_COMMIT_BRANCH", "CI_COMMIT_TAG"}),
        ({"pipeline_source": "trigger"}, {"CI_PIPELINE_TRIGGERED", "CI_COMMIT_BRANCH"}, set()),
        ({"is_manual": True, "node_index": 2, "node_total": 3}, {"CI_JOB_MANUAL", "CI_NODE_INDEX"}, set()),
    ],
)
def test_some_are_there_only_if_they_apply(changes: dict[str, Any], present: set[str], absent: set[str]) -> None:
    found = values(replace(FACTS, **changes)).keys()
    assert present <= found
    assert not absent & found


def test_what_only_the_runner_knows_is_not_sent() -> None:
    assert not {"CI_PROJECT_DIR", "CI_BUILDS_DIR", "CI_JOB_STATUS"} & values(FACTS).keys()


def test_secrets_are_not_public_and_texts_of_people_are_not_expanded() -> None:
    found = {variable.key: variable for variable in predefined(FACTS)}
    assert (found["CI_JOB_TOKEN"].public, found["CI_JOB_TOKEN"].masked) == (False, True)
    assert not found["CI_REPOSITORY_URL"].public
    assert expand(found.values()) == tuple(found.values())


def test_a_long_title_is_repeated_in_the_description() -> None:
    message = "x" * 100 + "\n\nmore"
    assert values(replace(FACTS, commit_message=message))["CI_COMMIT_DESCRIPTION"] == message


def test_standard_ports() -> None:
    assert values(replace(FACTS, server_url="https://ci.example"))["CI_SERVER_PORT"] == "443"
    assert values(replace(FACTS, server_url="http://ci.example"))["CI_SERVER_PORT"] == "80"


@pytest.mark.parametrize(
    ("text", "made"),
    [("", ""), ("--a--", "a"), ("A_b.C", "a-b-c"), ("x" * 70, "x" * 63), ("a" * 62 + "/b", "a" * 62)],
)
def test_slug(text: str, made: str) -> None:
    assert slug(text) == made


@pytest.mark.parametrize(
    ("name", "group"), [("a", "a"), ("a 1/3", "a"), ("a: [x, y]", "a"), ("a 1/3 b", "a 1/3 b"), (" 1/3", " 1/3")]
)
def test_group_name(name: str, group: str) -> None:
    assert group_name(name) == group


def test_the_last_definition_wins() -> None:
    low, high = JobVariable("A", "low"), JobVariable("A", "high", masked=True)
    assert merge([low, JobVariable("B", "b")], [high]) == (high, JobVariable("B", "b"))


@pytest.mark.parametrize(
    ("given", "key", "value"),
    [
        ([("A", "$B"), ("B", "b")], "A", "b"),
        ([("A", "${B}s"), ("B", "b")], "A", "bs"),
        ([("A", "%B%s"), ("B", "b")], "A", "bs"),
        ([("A", "$B"), ("B", "$C"), ("C", "c")], "A", "c"),
        ([("A", "<$GHOST>")], "A", "<>"),
        ([("A", "$$B %%B $5 ${"), ("B", "b")], "A", "$$B %%B $5 ${"),
        ([("A", "$CI_PROJECT_DIR/x ${CI_JOB_STATUS} $FF_X")], "A", "$CI_PROJECT_DIR/x ${CI_JOB_STATUS} $FF_X"),
        ([("P", "base"), ("P", "$P:more")], "P", "base:more"),
        ([("P", "base"), ("P", "$P:1"), ("P", "$P:2")], "P", "base:1:2"),
        ([("P", "$P:x")], "P", ":x"),
        ([("A", "$B"), ("B", "one"), ("B", "two")], "A", "two"),
        ([("A", "$B"), ("A", "plain"), ("B", "$A")], "B", "plain"),
    ],
)
def test_expansion(given: list[tuple[str, str]], key: str, value: str) -> None:
    assert expanded(*given)[key] == value


def test_raw_ones_stay_and_are_protected_where_they_are_embedded() -> None:
    assert expanded(("A", "<$R>"), ("B", "b"), R="$B") == {"A": "<$$B>", "B": "b", "R": "$B"}


def test_a_file_is_left_to_the_runner() -> None:
    found = expand([JobVariable("A", "$KEY"), JobVariable("KEY", "content", file=True)])
    assert found[0].value == "$KEY"


def test_order_and_flags_are_kept() -> None:
    given = (JobVariable("B", "$A", masked=True), JobVariable("A", "a", public=False))
    assert expand(given) == (JobVariable("B", "a", masked=True), JobVariable("A", "a", public=False))


@pytest.mark.parametrize("given", [[("A", "$B"), ("B", "$A")], [("A", "$B"), ("B", "$C"), ("C", "x$B")]])
def test_circles_are_named(given: list[tuple[str, str]]) -> None:
    names = sorted({value.strip("x$") for _, value in given[-2:]})
    with pytest.raises(Invalid, match=r"circular variable reference detected: \[" + ", ".join(names) + r"\]"):
        expanded(*given)


def test_growth_is_limited() -> None:
    given = [("V0", "x" * 100), *((f"V{level}", f"$V{level - 1}" * 10) for level in range(1, 12))]
    with pytest.raises(Invalid, match="grow to more than"):
        expanded(*given)


def test_a_long_chain_needs_no_stack() -> None:
    given = [(f"V{level}", f"$V{level - 1}") for level in range(1500, 0, -1)]
    assert expanded(*given, ("V0", "end"))["V1500"] == "end"


NAMES = st.sampled_from(["A", "B", "C", "D"])
TEXTS = st.lists(st.one_of(NAMES.map("${{{}}}".format), st.sampled_from(["x", "$$", "%%", "-"])), max_size=4).map(
    "".join
)


@settings(max_examples=60, database=None)
@given(st.lists(st.tuples(NAMES, TEXTS), max_size=6))
def test_nothing_is_left_to_expand(pairs: list[tuple[str, str]]) -> None:
    try:
        found = expanded(*pairs)
    except Invalid:
        return
    assert found.keys() == {key for key, _ in pairs}
    assert not any("${" in value for value in found.values())
    assert list(found) == list(dict.fromkeys(chain(key for key, _ in pairs)))
