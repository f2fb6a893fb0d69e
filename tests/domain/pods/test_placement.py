"""Which pod has a path, and whose word counts about a person."""

import pytest

from domain.pods.directory import Directory, Pod, PodState
from domain.pods.placement import home_of, may_speak_for, other_pod_of

CLUSTER = Directory(
    1,
    (Pod(0, "a"), Pod(1, "b"), Pod(2, "c", state=PodState.REMOVED)),
    {"acme": 0, "other": 1, "gone": 2, "lost": 9, "ada": 0, "bob": 1},
)


@pytest.mark.parametrize(
    ("path", "home", "other"),
    [
        ("acme/app", 0, None),
        ("other/group/app", 1, 1),
        ("/OTHER/app/", 1, 1),
        ("other", 1, 1),
        ("gone/app", 2, None),
        ("lost/app", 9, None),
        ("nobody/app", None, None),
        ("", None, None),
    ],
)
def test_the_organisation_says_the_pod(path: str, home: int | None, other: int | None) -> None:
    assert (home_of(CLUSTER, path), other_pod_of(CLUSTER, 0, path)) == (home, other)


@pytest.mark.parametrize(
    ("username", "speaker", "own", "visits", "believed"),
    [
        ("ada", 0, 1, False, True),
        ("Ada", 0, 1, True, True),
        ("ada", 1, 0, False, False),
        ("ada", 1, 0, True, True),
        ("bob", 0, 2, True, False),
        ("nobody", 0, 1, True, False),
    ],
)
def test_the_home_of_a_person_is_believed_and_whom_they_visit(
    username: str, speaker: int, own: int, visits: bool, believed: bool
) -> None:
    assert may_speak_for(CLUSTER, speaker, own, username, visits_speaker=visits) is believed
