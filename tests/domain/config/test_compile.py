"""Properties of the whole compiler."""

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from domain.config.keywords import BRIDGE, JOB, TOP, WORKFLOW
from domain.errors import ConfigInvalid, PipelineFiltered
from tests.compiling import plan_of

NEEDS: dict[str, list[str]] = {
    "prepare": [],
    "build": ["prepare"],
    "lint": [],
    "unit": ["build", "lint"],
    "slow": ["unit", "prepare", "build"],
}
"""Valid jobs in the order of the text, with what each may need."""

SMALL = settings(max_examples=60, database=None)


@SMALL
@given(chosen=st.sets(st.sampled_from(sorted(NEEDS)), min_size=1), shuffled=st.randoms(use_true_random=False))
def test_any_subset_of_valid_jobs_compiles_and_keeps_the_order_of_needs(chosen: set[str], shuffled: Random) -> None:
    wanted = {}
    for name in chosen:
        wanted[name] = [need for need in NEEDS[name] if need in chosen]
        shuffled.shuffle(wanted[name])
    text = "\n".join(f"{name}: {{script: x, needs: [{', '.join(needs)}]}}" for name, needs in wanted.items())
    made = plan_of(text)
    assert {job.name: [need.job for need in job.needs or ()] for job in made.jobs} == wanted
    assert [job.name for job in made.jobs] == list(wanted)


MARKS = ": - [ ] { } , ! !! ' \" | ? % --- &x *x <<:".split()
KEYS = "script: needs: extends: parallel: matrix: stages: default: variables: image: artifacts: retry: when:".split()
SCALARS = "a b .b 1 -1 0x ~ true 2024-01-01 $[[matrix.A]]".split()
PIECES = st.sampled_from([*MARKS, *KEYS, *SCALARS, " ", "\n", "\n  "])


def compiles_or_is_refused(text: str) -> bool:
    """True unless an issue is empty. Nothing but `ConfigInvalid` and `PipelineFiltered` may come out."""
    refusal = None
    try:
        plan_of(text)
    except ConfigInvalid as error:
        refusal = error
    except PipelineFiltered:
        pass
    return refusal is None or (bool(refusal.issues) and all(issue.message for issue in refusal.issues))


@SMALL
@given(st.text(max_size=200))
def test_random_text_raises_nothing_else(text: str) -> None:
    assert compiles_or_is_refused(text)


@settings(SMALL, max_examples=200)
@given(st.lists(PIECES, max_size=40).map(" ".join))
def test_random_pieces_of_yaml_raise_nothing_else(text: str) -> None:
    assert compiles_or_is_refused(text)


VALUES = st.recursive(
    st.sampled_from(["null", "true", "0", "1", "1.5", "a", "b", ".c", "'1 day'", "always", "manual", "delayed", "''"]),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda items: f"[{', '.join(items)}]"),
        st.dictionaries(
            st.sampled_from(
                ["job", "max", "when", "name", "paths", "matrix", "value", "reports", "exit_codes", "junit"]
            ),
            inner,
            max_size=3,
        ).map(lambda found: "{" + ", ".join(f"{key}: {value}" for key, value in found.items()) + "}"),
    ),
    max_leaves=5,
)
KEYWORDS = st.sampled_from(sorted(JOB | BRIDGE | TOP | WORKFLOW))


def flow(keys: dict[str, str]) -> str:
    """A mapping in flow style."""
    return "{" + ", ".join(f"{key}: {value}" for key, value in keys.items()) + "}"


NAMES = st.sampled_from(["a", "b", ".c", *sorted(TOP)])


@SMALL
@given(st.dictionaries(NAMES, st.dictionaries(KEYWORDS, VALUES, max_size=5).map(flow), min_size=1))
def test_any_value_of_any_keyword_raises_nothing_else(jobs: dict[str, str]) -> None:
    assert compiles_or_is_refused("\n".join(f"{name}: {keys}" for name, keys in jobs.items()))


def test_a_missing_file_does_not_hide_what_is_wrong_with_the_rest() -> None:
    text = "include: [/gone.yml]\na: {extends: .there, retry: 9}\nb: {script: !reference [.there, x], imge: y}\nc: {}\n"
    with pytest.raises(ConfigInvalid) as refused:
        plan_of(text)
    assert [(issue.line, issue.path) for issue in refused.value.issues] == [
        (1, "include"),
        (3, "jobs:b"),
    ]


def test_a_missing_reference_does_not_hide_what_is_wrong_with_the_rest() -> None:
    text = "a: {script: !reference [.there, x], retry: 9}\nb: {script: x, timeout: soon}\n"
    with pytest.raises(ConfigInvalid) as refused:
        plan_of(text)
    said = [issue.message for issue in refused.value.issues]
    assert len(said) == 3
    assert "could not be found" in said[0]
    assert said[1] == "jobs:a:retry config must be less than or equal to 2"
    assert said[2] == "jobs:b:timeout config should be a duration"
