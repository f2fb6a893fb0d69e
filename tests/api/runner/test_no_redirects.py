"""Calls of runners are never redirected: a client that follows turns its POST into a GET, and the call is lost."""

import pytest

from tests.api.runner.world import World


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/api/v4/jobs/request/"),
        ("PUT", "/api/v4/jobs/1/"),
        ("PATCH", "/api/v4/jobs/1/trace/"),
        ("GET", "/api/v4/projects/"),
        ("GET", "/api/v4/version/"),
    ],
)
async def test_a_slash_too_many_is_not_found_and_not_redirected(world: World, method: str, path: str) -> None:
    response = await world.client.request(method, path, json={})
    assert response.status_code == 404
    assert "location" not in response.headers
