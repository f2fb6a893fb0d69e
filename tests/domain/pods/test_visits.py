"""Who may come from another pod, and which row is theirs."""

import base64
import json
from typing import Any, Final

import pytest

from domain.errors import Unauthenticated
from domain.pods.credentials import VISITS_FROM, BrowserSession, sessions_in
from domain.pods.directory import Directory, Pod
from domain.pods.routing import Head, ToPod, decide
from domain.pods.visits import REFUSED, Guest, Known, guest_in, leads_home, require_home, row_of, state_by_home

CLUSTER: Final = Directory(1, (Pod(0, "default"), Pod(1, "one"), Pod(7, "seven")), {"ada": 7, "acme": 1})
ADA: Final = Guest(7, 12, "Ada", "Ada L.", "ada@example.com")


def test_a_guest_is_what_their_home_says_and_nothing_else_is_one() -> None:
    assert guest_in(ADA.claims(), 7) == ADA
    nameless = Guest(7, 12, "ada", "A", "", external=True)
    assert guest_in(nameless.claims(), 7) == nameless
    wrong: list[dict[str, Any]] = [
        {"sub": "a/b"},
        {"sub": 7},
        {"name": ""},
        {"name": "x" * 256},
        {"name": None},
        {"email": "x" * 321},
        {"email": None},
        {"home_id": 0},
        {"home_id": True},
        {"home_id": "12"},
        {"external": 1},
        {"external": None},
    ]
    for claims in wrong:
        with pytest.raises(Unauthenticated, match=REFUSED):
            guest_in(ADA.claims() | claims, 7)


@pytest.mark.parametrize(
    ("home", "username", "here", "may_come"),
    [
        (7, "Ada", 1, True),
        (7, "ada", 0, True),
        (7, "Ada", 7, False),
        (1, "Ada", 0, False),
        (7, "acme", 0, False),
        (7, "nobody", 0, False),
    ],
)
def test_only_the_home_of_a_name_vouches_for_it_and_for_nobody_at_home(
    home: int, username: str, here: int, may_come: bool
) -> None:
    guest = Guest(home, 12, username, "A", "")
    if may_come:
        require_home(guest, here, CLUSTER)
    else:
        with pytest.raises(Unauthenticated, match=REFUSED):
            require_home(guest, here, CLUSTER)


THEIRS, EXPECTED = Known(5, 7, 12), Known(6, 7, None)


@pytest.mark.parametrize(
    ("same_person", "same_name", "row"),
    [
        (None, None, None),
        (None, EXPECTED, 6),
        (THEIRS, THEIRS, 5),
        (THEIRS, None, 5),
    ],
)
def test_the_row_of_a_guest(same_person: Known | None, same_name: Known | None, row: int | None) -> None:
    assert row_of(ADA, same_person, same_name) == row


@pytest.mark.parametrize(
    ("same_person", "same_name"),
    [
        (None, Known(6, None, None)),
        (None, Known(6, 1, None)),
        (None, Known(6, 1, 12)),
        (None, Known(6, 7, 13)),
        (THEIRS, Known(6, None, None)),
        (THEIRS, EXPECTED),
    ],
    ids=[
        "of this pod",
        "expected from elsewhere",
        "of elsewhere",
        "of somebody before",
        "renamed",
        "renamed, expected",
    ],
)
def test_a_row_is_nobody_elses(same_person: Known | None, same_name: Known) -> None:
    with pytest.raises(Unauthenticated, match=REFUSED):
        row_of(ADA, same_person, same_name)


def signed(pod: str, **claims: Any) -> str:
    parts = ({"alg": "EdDSA"}, {"iss": f"perdure:{pod}", **claims})
    return ".".join(
        [*(base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in parts), "x"]
    )


def cookies(*pairs: tuple[str, str]) -> dict[str, str]:
    return {"cookie": "; ".join(f"{name}={value}" for name, value in pairs)}


VISIT: Final = ("perdure_session_1", signed("one", **{VISITS_FROM: 7}))
OWN: Final = ("perdure_session_7", signed("seven"))
GONE: Final = ("perdure_session_9", signed("gone"))


def test_a_browser_goes_home_before_it_goes_where_it_visits() -> None:
    headers = cookies(VISIT, ("other", "x"), GONE, OWN)
    own, visit = (
        BrowserSession("perdure_session_7", 7, is_visit=False),
        BrowserSession("perdure_session_1", 1, is_visit=True),
    )
    assert sessions_in(headers, CLUSTER) == [own, visit]
    for path in ("/", "/users/visit", "/-/profile/password"):
        assert decide(Head("GET", path, headers), CLUSTER) == ToPod(7, "the session of the browser")
    assert decide(Head("GET", "/", cookies(VISIT)), CLUSTER) == ToPod(1, "the session of the browser")
    assert decide(Head("GET", "/-/visits/1", headers), CLUSTER) == ToPod(1, "the number of the pod in the path")
    assert leads_home([own, visit], 1)
    assert not leads_home([own, visit], 7), "they are there"
    assert not leads_home([visit], 0), "a visit leads nowhere"
    assert not leads_home([], 0)


@pytest.mark.parametrize("number", ["5", "8192", "99999"])
def test_a_pod_that_there_is_not_is_visited_by_nobody(number: str) -> None:
    decision = decide(Head("GET", f"/-/visits/{number}", {}), CLUSTER)
    assert getattr(decision, "status", None) == 404


def test_what_is_no_number_goes_where_all_else_goes() -> None:
    for path in ("/-/visits", "/-/visits/x", "/-/visits/" + "9" * 20):
        assert decide(Head("GET", path, {}), CLUSTER) == ToPod(0, "nothing in it names a pod")


@pytest.mark.parametrize(
    ("state", "is_blocked", "becomes"),
    [
        ("active", True, "blocked_at_home"),
        ("active", False, "active"),
        ("blocked_at_home", False, "active"),
        ("blocked_at_home", True, "blocked_at_home"),
        ("blocked", True, "blocked"),
        ("blocked", False, "blocked"),
    ],
)
def test_home_lets_nobody_in_whom_the_visited_pod_has_blocked(state: str, is_blocked: bool, becomes: str) -> None:
    assert state_by_home(state, is_blocked=is_blocked) == becomes
