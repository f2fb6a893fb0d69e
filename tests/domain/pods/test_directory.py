"""What a router knows of a cluster."""

import pytest

from domain.pods.directory import Directory, Pod, placed

EAST, WEST = Pod(0, "east"), Pod(7, "west")


def test_a_row_is_of_the_pod_that_gave_it_its_id() -> None:
    directory = Directory(1, (WEST, EAST))
    assert [directory.of_id(row_id) for row_id in (1, 2**40 - 1, 2**40, 7 * 2**40 + 5)] == [0, 0, 1, 7]
    assert directory.first is EAST


def test_paths_are_known_in_any_size_of_letters() -> None:
    assert placed([("Acme", 7)]) == {"acme": 7}


@pytest.mark.parametrize("pods", [(), (EAST, Pod(0, "other")), (EAST, Pod(1, "east"))])
def test_pods_differ(pods: tuple[Pod, ...]) -> None:
    with pytest.raises(ValueError, match="no two of one number or name"):
        Directory(1, pods)
