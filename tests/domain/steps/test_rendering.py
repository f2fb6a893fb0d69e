"""Expressions of steps: what they see, and what is sensitive afterwards."""

from typing import Any

import pytest

from domain.errors import Invalid
from domain.steps.rendering import MAX_VALUE, Known, Names, rendered, rendered_text

NAMES = Names(
    inputs={"who": Known("ada"), "count": Known(3), "token": Known("t0p", is_sensitive=True)},
    env={"HOME": Known("/root"), "PASSWORD": Known("pw", is_sensitive=True)},
    variables={"CI_JOB_ID": Known("7")},
    steps={"one": {"line": Known("hi"), "key": Known("k", is_sensitive=True)}, "two": {}},
    files={"work_dir": "/build", "step_dir": "/steps/a"},
)


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("hello ${{ inputs.who }}", "hello ada"),
        ("${{ inputs.count }}", 3),
        ("${{ vars.CI_JOB_ID }}${{ job.CI_JOB_ID }}", "77"),
        ("${{ steps.one.outputs.line }}", "hi"),
        ("${{ step_dir }}/run.sh", "/steps/a/run.sh"),
        (
            {"a": ["${{ inputs.count }}", {"${{ x }}": "${{ env.HOME }}"}], "b": None},
            {"a": [3, {"${{ x }}": "/root"}], "b": None},
        ),
        ("${{ steps.two.outputs }}", {}),
    ],
)
def test_plain_values(written: Any, value: Any) -> None:
    assert rendered(written, NAMES) == Known(value)


@pytest.mark.parametrize(
    "written",
    [
        "${{ inputs.token }}",
        "Bearer ${{ inputs.token }}",
        "${{ inputs['token'] }}",
        "${{ [inputs.token] }}",
        "${{ {a: {b: inputs.token}} }}",
        "${{ inputs.token == 'x' }}",
        "${{ inputs.token && 'set' }}",
        "${{ bool(env.PASSWORD) }}",
        "${{ steps.one.outputs.key + 'x' }}",
        "${{ inputs }}",
        "all: ${{ inputs }}",
        "${{ steps }}",
        "${{ str(steps.one) }}",
        "${{ steps.one.outputs == steps.two.outputs }}",
        {"deep": [{"down": "${{ env.PASSWORD }}"}]},
    ],
)
def test_what_is_made_of_something_sensitive_is_sensitive(written: Any) -> None:
    assert rendered(written, NAMES).is_sensitive


def test_what_is_not_looked_at_makes_nothing_sensitive() -> None:
    assert rendered("${{ inputs.count || inputs.token }}", NAMES) == Known(3)
    assert not rendered("${{ steps.two }}", NAMES).is_sensitive


def test_what_is_given_away_is_plain() -> None:
    """A value that outlives the expression must not go on telling what is looked at."""
    found = rendered("${{ inputs }}", NAMES).value
    assert type(found) is dict
    assert type(rendered("${{ [steps] }}", NAMES).value[0]["one"]["outputs"]) is dict


@pytest.mark.parametrize("written", ["${{ inputs.nobody }}", "${{ inputs.who", "${{ nothing }}", "${{ 1 / 0 }}"])
def test_what_is_wrong(written: str) -> None:
    with pytest.raises(Invalid):
        rendered(written, NAMES)


def test_a_word_is_a_text() -> None:
    assert rendered_text("${{ str(inputs.count) }}", NAMES) == Known("3")
    with pytest.raises(Invalid, match=r"gives no text; convert it with str\(\)"):
        rendered_text("${{ inputs.count }}", NAMES)


def test_a_text_that_grows_beyond_the_limit_is_refused() -> None:
    big = Names(inputs={"x": Known("x" * (MAX_VALUE // 2))})
    assert len(rendered("${{ inputs.x }}", big).value) == MAX_VALUE // 2
    with pytest.raises(Invalid, match="at most 4,194,304"):
        rendered("${{ inputs.x }}${{ inputs.x }}!", big)
