"""What a pod is called, from its first start on and after changes of its settings."""

import pytest

from domain.errors import Invalid
from domain.pods.identity import PodIdentity, check_name, of_known_pod, of_new_pod

SEVEN = PodIdentity("seven", 7, "seven", "pipelines")


@pytest.mark.parametrize("name", ["a", "7", "eu-west-1", "x" * 39])
def test_a_new_pod_may_be_called(name: str) -> None:
    check_name(name)
    assert of_new_pod(PodIdentity(name)) == PodIdentity(name, 0, name, "pipelines")


@pytest.mark.parametrize("name", ["", "-a", "a-", "A", "a_b", "a.b", "a b", "ä", "x" * 40, "a\n"])
def test_a_new_pod_cannot_be_called(name: str) -> None:
    with pytest.raises(Invalid, match="A pod cannot have the name"):
        of_new_pod(PodIdentity(name))


def test_a_new_pod_begins_where_it_is_told_to() -> None:
    assert of_new_pod(PodIdentity("seven", 7, "there", "mine")) == PodIdentity("seven", 7, "there", "mine")


@pytest.mark.parametrize(
    "given", [SEVEN, PodIdentity("seven"), PodIdentity("seven", 7), PodIdentity("seven", 7, "seven")]
)
def test_a_pod_stays_what_it_is(given: PodIdentity) -> None:
    assert of_known_pod(SEVEN, given) == SEVEN


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (PodIdentity("eight", 7), "belongs to pod seven, not to eight; check PERDURE_DATABASE_URL and PERDURE_POD"),
        (PodIdentity("seven", 8), "has the number 7, not 8.*Set PERDURE_POD_NUMBER to 7"),
        (
            PodIdentity("seven", 7, "eight"),
            "namespace seven of Temporal, not in eight; unset PERDURE_TEMPORAL",
        ),
        (PodIdentity("seven", 7, "seven", "x"), "task queue pipelines of Temporal, not in x; unset PERDURE_TASK_QUEUE"),
    ],
)
def test_what_is_given_must_be_what_the_database_says(given: PodIdentity, words: str) -> None:
    with pytest.raises(Invalid, match=words):
        of_known_pod(SEVEN, given)


def test_a_pod_of_before_stays_in_the_namespace_it_was_in_whatever_its_name() -> None:
    before = PodIdentity("My Pod")
    assert of_known_pod(before, PodIdentity("My Pod", 3)) == PodIdentity("My Pod", 3, "default", "pipelines")
    told = PodIdentity("My Pod", 3, "there", "mine")
    assert of_known_pod(before, told) == told


def test_a_restored_pod_may_begin_elsewhere_in_temporal() -> None:
    there = PodIdentity("seven", 7, "there", "mine")
    assert of_known_pod(SEVEN, there, is_restored=True) == there
    assert of_known_pod(SEVEN, PodIdentity("seven"), is_restored=True) == SEVEN
    with pytest.raises(Invalid):
        of_known_pod(SEVEN, PodIdentity("seven", 8, "there"), is_restored=True)
