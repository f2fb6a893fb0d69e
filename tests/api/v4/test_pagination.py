"""Pages of lists and their headers."""

import re

import pytest

from api.v4.pagination import Paging
from tests.api.v4.site import Site

QUERY = (("status", "success"),)


def test_a_page_in_the_middle_leads_both_ways() -> None:
    headers = Paging(2, 10, "http://x/api/v4/projects", QUERY).headers(35)
    assert headers["X-Total"] == "35"
    assert headers["X-Total-Pages"] == "4"
    assert (headers["X-Prev-Page"], headers["X-Page"], headers["X-Next-Page"]) == ("1", "2", "3")
    links = {name: url for url, name in re.findall(r'<([^>]*)>; rel="(\w+)"', headers["Link"])}
    assert {name: re.findall(r"[?&]page=(\d+)", url) for name, url in links.items()} == {
        "prev": ["1"],
        "next": ["3"],
        "first": ["1"],
        "last": ["4"],
    }
    assert all("status=success" in url and "per_page=10" in url for url in links.values())


def test_the_only_page_leads_nowhere() -> None:
    headers = Paging(1, 20, "http://x/api/v4/projects").headers(0)
    assert (headers["X-Prev-Page"], headers["X-Next-Page"], headers["X-Total-Pages"]) == ("", "", "1")
    assert 'rel="next"' not in headers["Link"]


async def test_pipelines_come_in_pages_without_token_in_the_links(site: Site) -> None:
    ids = [await site.world.pipeline() for _ in range(5)]
    path = f"/api/v4/projects/{site.world.project_id}/pipelines"
    async with site.client() as client:
        query = {"private_token": site.root.token, "per_page": "2", "source": "push"}
        first = await client.get(path, params=query)
        last = await client.get(path, params={**query, "page": "3"})
        beyond = await client.get(path, params={**query, "page": "9"})
    assert [item["id"] for item in first.json()] == [ids[4], ids[3]]
    assert [item["id"] for item in last.json()] == [ids[0]]
    assert beyond.json() == []
    assert first.headers["x-total"] == beyond.headers["x-total"] == "5"
    assert site.root.token not in first.headers["link"]
    assert f"<{site.services.settings.url}{path}?source=push&page=2&per_page=2>" in first.headers["link"]


@pytest.mark.both_databases
async def test_a_long_list_is_not_counted_to_its_end(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("models.repositories.paging", "api.v4.pagination"):
        monkeypatch.setattr(f"{module}.MAX_COUNTED", 3)
    for _ in range(5):
        await site.world.pipeline()
    path = f"/api/v4/projects/{site.world.project_id}/pipelines"
    async with site.client(site.root) as client:
        pages = [await client.get(path, params={"per_page": "2", "page": page}) for page in "1234"]
    assert [len(page.json()) for page in pages] == [2, 2, 1, 0]
    assert [page.headers["x-next-page"] for page in pages] == ["2", "3", "", ""]
    for page in pages:
        assert not {"x-total", "x-total-pages"} & set(page.headers)
        assert 'rel="last"' not in page.headers["link"]
