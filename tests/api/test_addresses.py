"""Addresses that nothing could mean."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from api.addresses import MAX_PATH
from tests.api.v4.site import Site, open_site


@pytest.fixture
async def site(tmp_path: Path, database_url: str) -> AsyncIterator[Site]:
    async with open_site(tmp_path, database_url) as opened:
        yield opened


@pytest.mark.parametrize(
    ("address", "status", "word"),
    [
        ("/api/v4/projects/a%00b", 400, "NUL"),
        ("/api/v4/projects?search=%00", 400, "NUL"),
        ("/api/v4/projects/" + "9" * MAX_PATH, 414, str(MAX_PATH)),
        ("/api/v4/projects/" + "9" * 100, 404, "Not Found"),
    ],
)
async def test_the_answer_says_what_is_wrong(site: Site, address: str, status: int, word: str) -> None:
    async with site.client(site.root) as client:
        response = await client.get(address)
        assert (response.status_code, word in response.json()["message"]) == (status, True)
