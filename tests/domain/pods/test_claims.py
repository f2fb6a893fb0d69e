"""Names in two phases: which claim follows another, and what readers see of it."""

from dataclasses import replace
from typing import Any

import pytest

from domain.errors import Invalid, NotFound, Refused, Taken
from domain.pods.claims import (
    RELEASED_KEPT,
    Claim,
    ClaimKind,
    ClaimState,
    claimed,
    confirmed,
    forgotten_until,
    is_seen,
    moved,
    released,
    unique_name,
)

BLOCK = 2**40
TENTATIVE = Claim("id", ClaimKind.PATH, "acme", 7)
CONFIRMED = replace(TENTATIVE, state=ClaimState.CONFIRMED)
RELEASED = replace(TENTATIVE, state=ClaimState.RELEASED)
OWN, FOREIGN = 7 * BLOCK + 1, 3 * BLOCK + 1


@pytest.mark.parametrize("kept", [TENTATIVE, CONFIRMED])
def test_the_same_claim_again_is_the_claim(kept: Claim) -> None:
    assert claimed(TENTATIVE, kept, kept) is kept


def test_a_name_that_somebody_has_is_taken() -> None:
    for pod, own in ((7, True), (0, False)):
        with pytest.raises(Taken) as raised:
            claimed(TENTATIVE, None, replace(CONFIRMED, claim_id="other", pod_number=pod))
        assert raised.value.own is own
    assert claimed(TENTATIVE, None, None) is TENTATIVE


@pytest.mark.parametrize("change", [{"name": "other"}, {"kind": ClaimKind.EMAIL}, {"pod_number": 0}])
def test_an_id_is_of_one_claim(change: dict[str, Any]) -> None:
    with pytest.raises(Refused, match="another claim"):
        claimed(replace(TENTATIVE, **change), CONFIRMED, None)


def test_a_released_claim_takes_nothing_any_more() -> None:
    with pytest.raises(Refused, match="was released"):
        claimed(TENTATIVE, RELEASED, None)
    with pytest.raises(Refused, match="was released"):
        confirmed(RELEASED, None, None, by_pod=True)
    assert released(RELEASED) == released(CONFIRMED) == released(TENTATIVE) == RELEASED


def test_a_release_is_remembered_for_thirty_days() -> None:
    assert RELEASED_KEPT == 30 * 24 * 60 * 60
    assert forgotten_until(RELEASED_KEPT + 1_000.9) == 1_000


@pytest.mark.parametrize(
    ("claim", "organisation", "home", "by_pod", "error"),
    [
        (TENTATIVE, None, None, True, None),
        (CONFIRMED, None, None, True, None),
        (TENTATIVE, OWN, None, True, None),
        (TENTATIVE, OWN, 7, True, None),
        (TENTATIVE, OWN, 0, False, "lives in another pod"),
        (TENTATIVE, FOREIGN, None, True, "not of the block"),
        (TENTATIVE, FOREIGN, None, False, None),
        (TENTATIVE, FOREIGN, 7, True, None),
        (replace(CONFIRMED, organisation_id=OWN), OWN + 1, None, True, "another organisation"),
        (replace(TENTATIVE, kind=ClaimKind.EMAIL), OWN, None, True, "only a claim on a path"),
    ],
)
def test_for_whom_a_claim_is_confirmed(
    claim: Claim, organisation: int | None, home: int | None, by_pod: bool, error: str | None
) -> None:
    if error is not None:
        with pytest.raises((Refused, Invalid), match=error):
            confirmed(claim, organisation, home, by_pod=by_pod)
        return
    done = confirmed(claim, organisation, home, by_pod=by_pod)
    is_away = organisation == FOREIGN
    expected = replace(claim, state=ClaimState.CONFIRMED, organisation_id=organisation, was_moved=is_away)
    assert done == expected
    assert done.is_away is is_away
    assert confirmed(done, organisation, 7, by_pod=by_pod) == done
    assert confirmed(done, None, None, by_pod=by_pod) == done, "an organisation that was told stays"


def test_what_is_not_there_is_not_found() -> None:
    with pytest.raises(NotFound):
        confirmed(None, None, None, by_pod=False)
    for claim in (None, TENTATIVE, RELEASED, replace(CONFIRMED, kind=ClaimKind.EMAIL)):
        with pytest.raises(NotFound):
            moved(claim, 0, 7)


def test_an_organisation_that_comes_home_has_been_away() -> None:
    home = replace(CONFIRMED, organisation_id=OWN)
    away = moved(home, 0, 7)
    assert (away.pod_number, away.is_away, away.was_moved) == (0, True, True)
    assert moved(away, 0, 7) is away, "the same call again"
    back = moved(away, 7, 0)
    assert (back.pod_number, back.is_away, back.was_moved) == (7, False, True)
    with pytest.raises(Refused, match="is in pod 7, not in pod 3"):
        moved(home, 0, 3)


def test_readers_see_confirmed_paths_alone() -> None:
    email = replace(CONFIRMED, kind=ClaimKind.EMAIL)
    seen = [(None, CONFIRMED), (TENTATIVE, CONFIRMED), (CONFIRMED, RELEASED), (CONFIRMED, moved(CONFIRMED, 0, 7))]
    unseen = [(None, TENTATIVE), (TENTATIVE, RELEASED), (CONFIRMED, CONFIRMED), (None, email), (email, released(email))]
    assert [is_seen(before, after) for before, after in seen] == [True] * len(seen)
    assert [is_seen(before, after) for before, after in unseen] == [False] * len(unseen)


def test_names_are_one_in_any_size_of_letters() -> None:
    assert unique_name(ClaimKind.PATH, "Acme.Org") == "acme.org"
    assert unique_name(ClaimKind.EMAIL, " Jo@Example.ORG ") == "jo@example.org"


@pytest.mark.parametrize("name", ["", "a/b", "-a", "a.git", "a b", "a\x00"])
def test_what_cannot_be_a_path(name: str) -> None:
    with pytest.raises(Invalid, match="cannot be the path"):
        unique_name(ClaimKind.PATH, name)


@pytest.mark.parametrize("name", ["", "a", "@b", "a@", "a\x00@b", "a\n@b", "a@" + "b" * 400])
def test_what_cannot_be_an_address(name: str) -> None:
    with pytest.raises(Invalid, match="must be an e-mail address"):
        unique_name(ClaimKind.EMAIL, name)
