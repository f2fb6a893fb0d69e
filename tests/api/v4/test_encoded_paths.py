"""Projects named by full path in one segment."""

import pytest

from api.v4.encoded_paths import decoded, segments_kept
from tests.api.v4.site import Site


@pytest.mark.parametrize(
    ("raw", "path", "segment"),
    [
        (b"/api/v4/projects/group%2Fname/jobs", "/api/v4/projects/group%2Fname/jobs", "group/name"),
        (b"/api/v4/projects/group%2fname", "/api/v4/projects/group%2Fname", "group/name"),
        (b"/api/v4/projects/a%20b", "/api/v4/projects/a b", "a b"),
        (b"/api/v4/projects/100%2525", "/api/v4/projects/100%2525", "100%25"),
        (b"/api/v4/projects/100%25", "/api/v4/projects/100%25", "100%"),
        (b"/api/v4/projects/%C3%A4", "/api/v4/projects/ä", "ä"),
    ],
)
def test_a_segment_stays_whole_and_decodes_to_its_text(raw: bytes, path: str, segment: str) -> None:
    assert segments_kept(raw) == path
    assert decoded(path.split("/")[4]) == segment


async def test_id_and_encoded_path_lead_to_the_same_project(site: Site) -> None:
    path = await site.path()
    async with site.client(site.root) as client:
        by_id = await client.get(f"/api/v4/projects/{site.world.project_id}")
        by_path = await client.get(f"/api/v4/projects/{path.replace('/', '%2F')}")
        pipelines = await client.get(f"/api/v4/projects/{path.replace('/', '%2F')}/pipelines")
    assert by_id.json() == by_path.json()
    assert by_id.json()["path_with_namespace"] == path
    assert pipelines.json() == []


async def test_what_is_no_project_is_not_found(site: Site) -> None:
    async with site.client(site.root) as client:
        for reference in ("no%2Fsuch", "9" * 30, "%C2%B2", "%2E%2E", "a%252Fb", "0"):
            response = await client.get(f"/api/v4/projects/{reference}")
            assert (response.status_code, response.json()) == (404, {"message": "404 Project Not Found"}), reference
