"""The configuration that is kept with a pipeline: small, and the same YAML that lint shows."""

from hypothesis import given
from hypothesis import strategies as st

from bench.gen_ci_yaml import mixed
from domain.config import merged
from domain.config.compile import compile_config, merged_config
from domain.config.context import Context
from domain.config.merged import merged_yaml, packed
from domain.config.plan import Plan
from domain.config.reading.tree import Items, Map, Value
from domain.config.reading.yaml_text import dump

PUSH = Context(predefined={"CI_PIPELINE_SOURCE": "push", "CI_COMMIT_BRANCH": "main"})


def plan_of(text: str, context: Context = PUSH) -> Plan:
    """The plan of a text that includes nothing."""
    plan = compile_config(text, context)
    assert isinstance(plan, Plan)
    return plan


def test_what_is_kept_is_what_lint_shows() -> None:
    text = mixed(200)
    kept = plan_of(text).merged
    assert merged_yaml(kept) == merged_config(text, PUSH)
    assert len(kept) < len(text) / 5


def test_extends_and_references_are_carried_out() -> None:
    text = (
        ".base: {script: [make]}\none: {extends: .base, variables: {A: $B}}\ntwo: {script: !reference [one, script]}\n"
    )
    shown = merged_yaml(plan_of(text).merged)
    assert "two:\n  script:\n  - make\n" in shown
    assert "A: $B" in shown, "variables stay as they are written"


def value_trees() -> st.SearchStrategy[Value]:
    """Values as the reader makes them."""
    leaves: st.SearchStrategy[Value] = (
        st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False) | st.text(max_size=20)
    )
    return st.recursive(leaves, lambda inner: st.lists(inner).map(_items) | st.dictionaries(st.text(), inner).map(_map))


def _items(values: list[Value]) -> Value:
    made = Items()
    made.extend(values)
    return made


def _map(values: dict[str, Value]) -> Value:
    made = Map()
    made.update(values)
    return made


@given(st.dictionaries(st.text(), value_trees()))
def test_values_come_back_as_they_were(values: dict[str, Value]) -> None:
    root = Map()
    root.update(values)
    assert merged_yaml(packed(root)) == dump(root)


def test_what_would_grow_beyond_all_bounds_is_not_kept() -> None:
    root: Value = Items()
    assert isinstance(root, Items)
    root.append("x" * 100)
    for _ in range(40):  # each level twice the one below: 2^40 values of one object
        above = Items()
        above.extend((root, root))
        root = above
    whole = Map()
    whole["jobs"] = root
    assert packed(whole) == b""


def test_the_limit_counts_what_is_written() -> None:
    root = Map()
    root["a"] = "x" * (merged.MAX_CHARACTERS - 100)
    assert packed(root)
    root["b"] = "x" * 200
    assert packed(root) == b""
