"""Who may do what: the application does what the table says, for every route and every role."""

from collections.abc import AsyncIterator

import pytest

from tests.permissions import matrix
from tests.permissions.place import EVERYBODY, Place, open_place
from tests.permissions.routes import every_route

PARTS = 4


@pytest.fixture(scope="module")
async def place(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Place]:
    """The installation with two sides; every call finds it as it was."""
    async with open_place(tmp_path_factory.mktemp("place")) as opened:
        yield opened


async def test_every_route_has_its_line_and_no_line_is_left_over(place: Place) -> None:
    routes = {f"{method} {route}" for method, route in every_route(place.site.services)}
    assert sorted(matrix.read()) == sorted(routes), "run python -m tests.permissions.matrix, and look at the new lines"


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
async def test_the_application_does_what_the_table_says(place: Place, part: int) -> None:
    known = matrix.read()
    for method, route in every_route(place.site.services)[part::PARTS]:
        assert await matrix.row(place, method, route) == known[f"{method} {route}"]


def test_nobody_gets_at_the_objects_of_a_foreign_group() -> None:
    """But administrators: a success on the foreign side is one of a route that knows no group or project."""
    for name, line in matrix.read().items():
        foreign = line.rpartition(" | ")[2].split()
        if "{project}" in name or "{group}" in name or "{path}" in name:
            assert all(answer in {"401", "403", "404", "303"} for answer in foreign[:-1]), line


def test_whoever_has_more_rights_is_never_refused_what_others_may() -> None:
    for line in matrix.read().values():
        own = line.rpartition(" | ")[0].split()[-len(EVERYBODY) :]
        allowed = [answer not in {"401", "403", "404"} for answer in own[1:-1]]
        assert allowed == sorted(allowed), line
