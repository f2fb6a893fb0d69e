"""What runners make of our tokens: each has a short token of its own, so that no two share a folder or a log name."""

import re
from collections import Counter
from collections.abc import Callable
from functools import partial

import pytest

from auth.routable_token import (
    TYPE_NUMBER,
    deploy_token,
    personal_token,
    registration_token,
    runner_token,
    trigger_token,
)
from auth.secret_token import plain_token
from domain.pods.routable_token import Route, read_route
from domain.pods.token_prefixes import RUNNER, RUNNER_BY_REGISTRATION, TRIGGER
from fleet.config import RunnerEntry
from tests.auth.short_token import RULES

MANY = 10_000
"""Eight characters of chance are 2^48: two of so many tokens are alike once in 5 million runs."""

KINDS: dict[str, tuple[Callable[[], str], Route | None]] = {
    **{
        f"{prefix}{runner_type}": (
            partial(runner_token, prefix, 0, 1, runner_type),
            Route(pod_number=0, organisation_id=1, runner_type=TYPE_NUMBER[runner_type]),
        )
        for prefix in (RUNNER, RUNNER_BY_REGISTRATION)
        for runner_type in TYPE_NUMBER
    },
    "registration": (lambda: registration_token(0, 1), Route(pod_number=0, organisation_id=1)),
    "registration of an installation": (lambda: registration_token(5), Route(pod_number=5)),
    "registration as once": (lambda: plain_token("GR1348941"), None),
    "trigger": (lambda: trigger_token(5, 1, 7), Route(pod_number=5, organisation_id=1, project_id=7)),
    "personal": (lambda: personal_token(5, 9), Route(pod_number=5, user_id=9)),
    "bot": (lambda: personal_token(5, 9, organisation_id=1), Route(pod_number=5, organisation_id=1, user_id=9)),
    "deploy of a project": (lambda: deploy_token(5, 1, project_id=7), Route(5, 1, project_id=7)),
    "deploy of a group": (lambda: deploy_token(5, 1, group_id=3), Route(5, 1, group_id=3)),
}
"""Every kind of random token: how one is made, and where it leads."""

SHORTENED = [kind for kind in KINDS if kind.startswith(("glrt", "registration"))]
"""Those that a runner ever holds as its own."""


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("kind", SHORTENED)
def test_no_two_tokens_have_the_same_short_token(kind: str, rule: str) -> None:
    make, _ = KINDS[kind]
    short = [RULES[rule](make()) for _ in range(MANY)]
    assert len(set(short)) == MANY
    assert {len(text) for text in short} <= {9, 17}
    assert all(re.fullmatch(r"[\w-]+", text) for text in short)


@pytest.mark.parametrize("kind", SHORTENED)
def test_each_character_of_a_short_token_is_chance(kind: str) -> None:
    """A fixed character would be there in all of them; by chance one of 64 is there in a tenth hardly ever."""
    make, _ = KINDS[kind]
    short = [RULES["newest"](make()) for _ in range(1_000)]
    for place in range(9):
        most = Counter(text[place] for text in short).most_common(1)[0][1]
        assert most < 100, f"character {place} of the short token"


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_leads_where_it_belongs(kind: str) -> None:
    make, route = KINDS[kind]
    assert {read_route(make()) for _ in range(MANY)} == {route}


def test_our_own_runner_shortens_as_the_others_do() -> None:
    """It names folders by it too, and two runners of one host may be of two makes."""
    for kind in SHORTENED[:6]:
        token = KINDS[kind][0]()
        assert RunnerEntry("n", "http://h", token).short_token == RULES["newest"](token)


def test_what_a_trigger_is_called_by_differs() -> None:
    """Four characters behind the prefix: 2^24, so that some of a thousand may be alike, hardly two pairs of them."""
    assert len({trigger_token(0, 1, 7).removeprefix(TRIGGER)[:4] for _ in range(1_000)}) > 995
