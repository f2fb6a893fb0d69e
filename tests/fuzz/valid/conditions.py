"""Conditions of `rules:if` as trees: how they are written, and what they are worth.

GitLab: "CI/CD YAML syntax reference", "Specify when jobs run with rules", "CI/CD variable expressions". What a part is
worth is None (not defined), a text, or a truth value.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Final, TypeAlias

Worth: TypeAlias = str | bool | None
Get: TypeAlias = Callable[[str], str | None]

PATTERNS: Final = ("^a", "b$", "^v\\d+", "a|b", "^$", ".+", "x.z", "ain", "^(one|two)$")
"""What RE2 and Python's `re` read alike."""
TEXTS: Final = ("a", "b", "ab", "", " ", "v1", "one", "true", "main", "push", "xyz")
NAMES: Final = ("A", "B", "C", "PATTERN", "A", "B", "C", "UNDEFINED", "CI_PIPELINE_SOURCE", "CI_COMMIT_BRANCH")
NAMES_OF_JOBS: Final = (*NAMES, "CI_COMMIT_TAG", "CI_JOB_NAME", "CI_JOB_STAGE", "CI_NODE_INDEX", "CI_NODE_TOTAL")
ENVIRONMENT: Final = "CI_ENVIRONMENT_NAME"


@dataclass(frozen=True)
class Name:
    name: str


@dataclass(frozen=True)
class Text:
    text: str


@dataclass(frozen=True)
class Constant:
    value: bool | None


@dataclass(frozen=True)
class Pattern:
    source: str
    ignores_case: bool = False


@dataclass(frozen=True)
class Not:
    of: "Condition"


@dataclass(frozen=True)
class Two:
    """`operator` is one of `&&`, `||`, `==`, `!=`, `=~`, `!~`."""

    operator: str
    left: "Condition"
    right: "Condition"


Condition: TypeAlias = Name | Text | Constant | Pattern | Not | Two

_STRENGTH: Final = {"||": 1, "&&": 2, "==": 3, "!=": 3, "=~": 3, "!~": 3}


class If(str):
    """The text of a condition, which remembers the condition."""

    __slots__ = ("condition",)

    condition: Condition

    @classmethod
    def of(cls, condition: Condition) -> "If":
        text = cls(written(condition))
        text.condition = condition
        return text


def written(condition: Condition, within: int = 0) -> str:
    """The condition with no more parentheses than it needs; `within` is how strongly the operator around it binds."""
    match condition:
        case Name(name):
            return f"${name}"
        case Text(text):
            return f'"{text}"'
        case Constant(value):
            return "null" if value is None else str(value).lower()
        case Pattern(source, ignores_case):
            return f"/{source}/{'i' if ignores_case else ''}"
        case Not(of):
            return f"!{written(of, 4)}"
        case Two(operator, left, right):
            strength = _STRENGTH[operator]
            text = f"{written(left, strength)} {operator} {written(right, strength + 1)}"
            return f"({text})" if strength < within else text


def holds(condition: Condition, get: Get) -> bool:
    """Whether the whole condition holds: a text does if it is not blank."""
    return _filled(_worth(condition, get))


def _worth(condition: Condition, get: Get) -> Worth:
    match condition:
        case Name(name):
            return get(name)
        case Text(text):
            return text
        case Constant(value):
            return value
        case Not(of):
            return not _filled(_worth(of, get))
        case Two("=~" | "!~" as operator, left, right):
            return _found(_worth(left, get), right, get) == (operator == "=~")
        case Two(operator, left, right):
            return _joined(operator, _worth(left, get), _worth(right, get))
    raise TypeError(condition)


def _joined(operator: str, left: Worth, right: Worth) -> Worth:
    """In Ruby an empty text is true."""
    true = left is not None and left is not False
    if operator == "&&":
        return right if true else left
    if operator == "||":
        return left if true else right
    if isinstance(left, bool) != isinstance(right, bool) and None not in (left, right):
        left, right = _text(left), _text(right)
    return (left == right) == (operator == "==")


def _found(left: Worth, right: Condition, get: Get) -> bool:
    """A right side that is a text in slashes is a pattern; in any other text the left side is looked for."""
    if isinstance(right, Pattern):
        return re.search(right.source, _text(left), re.IGNORECASE if right.ignores_case else 0) is not None
    pattern = _worth(right, get)
    if pattern is None or pattern is False:
        return False
    if slashed := re.fullmatch(r"/(.+)/", _text(pattern)):
        return re.search(slashed[1], _text(left)) is not None
    return _text(left) in _text(pattern)


def _filled(worth: Worth) -> bool:
    return worth.strip() != "" if isinstance(worth, str) else bool(worth)


def _text(worth: Worth) -> str:
    if worth is None:
        return ""
    return str(worth).lower() if isinstance(worth, bool) else worth


def random_condition(random: Random, names: tuple[str, ...], depth: int = 2) -> Condition:
    """Most often a single comparison."""
    kind = random.random()
    if depth and kind < 0.35:
        left, right = (random_condition(random, names, depth - 1) for _ in "lr")
        return Two(random.choice(("&&", "||")), left, right)
    if depth and kind < 0.42:
        return Not(random_condition(random, names, depth - 1))
    name = Name(random.choice(names))
    if kind < 0.6:
        return name
    if kind < 0.66:
        return Not(name)
    return _comparison(random, name, names)


def _comparison(random: Random, left: Condition, names: tuple[str, ...]) -> Condition:
    operator = random.choice(("==", "==", "!=", "=~", "=~", "!~"))
    if operator in ("=~", "!~"):
        pattern = Pattern(random.choice(PATTERNS), random.random() < 0.3)
        return Two(operator, left, random.choice((pattern, pattern, Name("PATTERN"), Text(random.choice(TEXTS)))))
    right = random.choice((Text(random.choice(TEXTS)), Name(random.choice(names)), Constant(None), Constant(True)))
    if random.random() < 0.15:
        left, right = right, left
    return Two(operator, left, right)
