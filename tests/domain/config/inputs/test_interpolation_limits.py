"""Limits of interpolation: hostile files and values end in an error, soon and in little memory."""

from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from domain.config.inputs.blocks import blocks_of
from domain.config.inputs.input_types import as_value
from domain.config.inputs.interpolation import interpolate
from domain.config.reading.issues import Issues
from domain.config.reading.source import read
from domain.config.reading.tree import Items, Map, Place, Value
from domain.errors import ConfigInvalid
from tests.growth import assert_linear, cost

MEGABYTE = 1024 * 1024
MAX_TIMES = 10
"""Times what the largest configuration that is allowed may cost; none of these has taken more than four."""


def many(count: int, text: str) -> Map:
    """A mapping with one text many times; `#` in it becomes the number."""
    root = Map()
    for number in range(count):
        root.put(f"k{number}", text.replace("#", str(number)), Place(number + 1, 1))
    return root


def checked(root: Map, values: dict[str, Value], issues: Issues) -> Map:
    """A configuration with its blocks replaced; raises `ConfigInvalid` if something is wrong."""
    found = interpolate(root, values, {}, issues, get={"BIG": "x" * 100}.get)
    issues.raise_if_any()
    return found


@pytest.fixture(scope="module")
def allowed() -> float:
    """Seconds for as many blocks as one configuration may have, here and now."""
    root, values = many(10_000, "$[[ inputs.list[0] | truncate(0,#) ]]"), {"list": as_value(["a"], Place(1, 1))}
    return cost(partial(checked, root, values, Issues("")), attempts=1)


def bomb(levels: int, width: int) -> list[Any]:
    """A list of `width ** levels` parts that takes no room."""
    value: list[Any] = ["x"]
    for _ in range(levels):
        value = Items(elements=[(as_value(value, Place()), Place())] * width)
    return value


@pytest.mark.parametrize(
    ("root", "values", "said"),
    [
        (many(10_001, "$[[ inputs.list[0] | truncate(0,#) ]]"), {"list": ["a"]}, "too many interpolation blocks"),
        (many(1, "$[[ inputs.big ]]"), {"big": "x" * (MEGABYTE + 1)}, "config node too large"),
        (many(1, "x$[[ inputs.big ]]"), {"big": "x" * MEGABYTE}, "config node too large"),
        (many(1, "$[[ inputs.big ]]" * 3_000), {"big": "x" * 1_000}, "config node too large"),
        (many(1, "x" * (MEGABYTE + 1)), {}, "config node too large"),
        (
            many(1, "a $[[ inputs.big ]]"),
            {"big": Items(elements=[("x" * MEGABYTE, Place())] * 100_000)},
            "config node too large",
        ),
        (many(50_000, "a $[[ inputs.big ]]"), {"big": "x" * 100_000}, "config too large"),
        (many(9_000, "$[[ inputs.big | truncate(#,900000) ]]"), {"big": "x" * MEGABYTE}, "config too large"),
        (many(50_000, "$[[ inputs.big ]]"), {"big": ["x"] * 100_000}, "config too large"),
        (many(1, "$[[ inputs.big ]]"), {"big": bomb(90, 10)}, "config too large"),
        (many(1, "text $[[ inputs.big ]]"), {"big": bomb(90, 10)}, "config node too large"),
        (many(1, "$[[ inputs.big ]]"), {"big": bomb(99, 1)}, "nested too deep"),
        (many(1, "$[[ inputs.big | expand_vars ]]"), {"big": "$BIG" * 300_000}, "the result has more than"),
    ],
)
def test_limits(root: Map, values: dict[str, Any], said: str, allowed: float) -> None:
    known = {name: as_value(value, Place(1, 1)) for name, value in values.items()}

    def refused() -> None:
        with pytest.raises(ConfigInvalid, match=said):
            checked(root, known, Issues(".gitlab-ci.yml"))

    assert cost(refused, attempts=1) < MAX_TIMES * allowed


def test_a_list_is_not_spliced_in_for_ever() -> None:
    root = Map()
    lists = ((Items(elements=[("$[[ inputs.big ]]", Place(1, 1))] * 4), Place(1, 1)) for _ in range(1_000))
    root.put("lists", Items(elements=lists), Place(1, 1))
    values: dict[str, Value] = {"big": Items(elements=[("x", Place())] * 100_000)}
    with pytest.raises(ConfigInvalid, match="config too large: inputs make it grow to more than 500,000 values"):
        checked(root, values, Issues(""))


def test_an_alias_bomb_costs_nothing(allowed: float) -> None:
    levels = "\n".join(f"l{number}: &l{number} [{', '.join([f'*l{number - 1}'] * 9)}]" for number in range(1, 6))
    text = f"l0: &l0 ['$[[ inputs.name ]]']\n{levels}\n"
    root = read(text, Issues("")).root
    assert cost(partial(checked, root, {"name": "web"}, Issues("")), attempts=1) < allowed


@pytest.mark.parametrize("part", ["$[[", "$[[\n", "]]", "$[[ a", "$[[ a ]", "$[[ a\n]]", "[[ ]] ", "$[[ \n \n a b\n"])
def test_looking_for_blocks_takes_linear_time(part: str) -> None:
    def made(size: int) -> Callable[[], object]:
        text = part * (size // len(part))
        return lambda: deque(blocks_of(text), 0)

    assert_linear(made, MEGABYTE // 32)
