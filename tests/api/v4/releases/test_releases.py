"""Releases over the REST API: for people, and for running jobs with their job token."""

from typing import Any

import pytest

from models.repositories.artifacts import releases
from models.repositories.pipelines.job_rows import job as job_table
from models.repositories.pipelines.pipelines import pipeline as pipeline_table
from tests.api.v4.site import Site
from tests.api.v4.told_faults import told_faults

PACKINGS = ("zip", "tar.gz", "tar.bz2", "tar")
GUEST, REPORTER, DEVELOPER = 10, 20, 30
FILES = {".gitlab-ci.yml": "publish: {script: x, rules: [{if: $CI_COMMIT_TAG}]}\n"}
FULL: dict[str, Any] = {
    "tag_name": "rel/1.0",
    "ref": "main",
    "tag_message": "One",
    "name": "One",
    "description": "words",
    "milestones": ["m1"],
    "released_at": "2020-01-02T03:04:05+01:00",
    "assets": {"links": [{"name": "app", "url": "https://example.com/app", "link_type": "package"}]},
}


def address(site: Site, rest: str = "") -> str:
    return f"/api/v4/projects/{site.world.project_id}/releases{rest}"


async def tag_pipelines(site: Site) -> list[str]:
    async with site.services.database.read() as connection:
        return [row.ref for row in (await connection.execute(pipeline_table.select())).all() if row.tag]


async def test_a_release_is_made_read_listed_and_deleted(site: Site) -> None:
    sha = await site.commit(FILES)
    async with site.client(site.root) as client:
        made = await client.post(address(site), json=FULL)
        assert made.status_code == 201, made.text
        document = made.json()
        assert (document["tag_name"], document["name"], document["description"]) == ("rel/1.0", "One", "words")
        assert (document["released_at"], document["upcoming_release"]) == ("2020-01-02T02:04:05.000Z", False)
        assert (document["author"]["username"], document["milestones"]) == ("root", [{"title": "m1"}])
        assert (document["commit"]["id"], document["commit"]["title"]) == (sha, "First")
        path = await site.path()
        url = site.services.settings.url
        archives = [source["url"].removeprefix(url) for source in document["assets"]["sources"]]
        assert archives == [f"/{path}/-/archive/rel/1.0/app-rel-1.0.{one}" for one in PACKINGS]
        assert document["commit_path"] == f"/{path}/-/commit/{sha}"
        assert document["tag_path"] == f"/{path}/-/tags/rel%2F1.0"
        for page in (*archives, document["commit_path"], document["tag_path"]):
            assert (await client.get(page)).status_code == 200, page
        assert document["assets"] == {
            "count": 5,
            "sources": [
                {"format": one, "url": f"{url}{archive}"} for one, archive in zip(PACKINGS, archives, strict=True)
            ],
            "links": [
                {
                    "id": 1,
                    "name": "app",
                    "url": "https://example.com/app",
                    "direct_asset_url": "https://example.com/app",
                    "link_type": "package",
                }
            ],
        }
        assert await tag_pipelines(site) == ["rel/1.0"]
        for place in ("/rel%2F1.0", "/permalink/latest"):
            assert (await client.get(address(site, place))).json() == document
        assert document["_links"]["self"] == f"{url}/{path}/-/releases/rel%2F1.0"
        shown = await client.get(document["_links"]["self"])
        assert shown.headers["content-type"].startswith("text/html")
        gone = await client.delete(address(site, "/rel%2F1.0"))
        assert (gone.status_code, gone.json()) == (200, document)
        for place in ("/rel%2F1.0", "/permalink/latest"):
            assert (await client.get(address(site, place))).status_code == 404
    (tag,) = await site.services.repositories.get(site.world.project_id).tags()
    assert (tag.short_name, tag.sha) == ("rel/1.0", sha), "the tag stays"


async def test_the_list_is_paged_and_ordered(site: Site) -> None:
    await site.commit(FILES)
    async with site.client(site.root) as client:
        for tag, year in (("b", 2021), ("c", 2022), ("a", 2020)):
            body = {"tag_name": tag, "ref": "main", "released_at": f"{year}-01-01"}
            assert (await client.post(address(site), json=body)).status_code == 201
        first = await client.get(address(site), params={"per_page": 2})
        assert [item["tag_name"] for item in first.json()] == ["c", "b"]
        assert first.headers["x-total"] == "3"
        rising = await client.get(address(site), params={"sort": "asc", "order_by": "created_at"})
        assert [item["tag_name"] for item in rising.json()] == ["b", "c", "a"]
        assert (await client.get(address(site), params={"order_by": "tag"})).status_code == 400


@pytest.mark.parametrize(
    ("change", "status", "said"),
    [
        ({"tag_name": None}, 400, "tag_name is invalid"),
        ({"ref": ""}, 422, "Ref is not specified: there is no tag rel/1.0, so say where to make it."),
        ({"ref": "nowhere"}, 400, "The tag rel/1.0 cannot be made: there is no branch, tag or commit 'nowhere'."),
        ({"tag_name": "a b"}, 400, "'a b' is not the name of a branch, tag or commit."),
        ({"released_at": "soon"}, 400, "released_at is 'soon'; write it by ISO 8601, as in 2030-01-31T12:00:00Z."),
        ({"description": "a\0b"}, 400, "The release holds a null character; leave it out."),
        ({"assets": {"links": [{"name": "n", "url": "javascript:1"}]}}, 400, "use http, https or ftp."),
        ({"assets": {"links": [{"name": "n"}]}}, 400, "assets.links.0.url is missing"),
    ],
)
async def test_what_is_wrong_is_told_and_makes_nothing(
    site: Site, change: dict[str, Any], status: int, said: str
) -> None:
    await site.commit(FILES)
    async with site.client(site.root) as client:
        response = await client.post(address(site), json={**FULL, **change})
        listed = (await client.get(address(site))).json()
    assert response.status_code == status, response.text
    assert said in told_faults(response)
    assert listed == []
    assert await site.services.repositories.get(site.world.project_id).tags() == ()


async def test_a_second_release_of_a_tag_is_a_conflict(site: Site) -> None:
    await site.commit(FILES)
    async with site.client(site.root) as client:
        assert (await client.post(address(site), json=FULL)).status_code == 201
        again = await client.post(address(site), json={**FULL, "name": "other"})
        assert (again.status_code, again.json()) == (409, {"message": "Release already exists"})
        assert (await client.get(address(site, "/rel%2F1.0"))).json()["name"] == "One"


async def test_members_read_developers_release(site: Site) -> None:
    await site.commit(FILES)
    async with site.client(site.root) as client:
        await client.post(address(site), json={**FULL, "tag_name": "v0"})
    for level in (0, GUEST, REPORTER, DEVELOPER):
        person = await site.person(f"level{level}", level)
        may_read, may_write = level >= REPORTER, level >= DEVELOPER
        async with site.client(person) as client:
            codes = [
                (await client.get(address(site))).status_code,
                (await client.get(address(site, "/v0"))).status_code,
                (await client.post(address(site), json={**FULL, "tag_name": f"v{level}x"})).status_code,
                (await client.delete(address(site, "/v0"))).status_code,
            ]
        read = 200 if may_read else 403 if level >= GUEST else 404
        assert codes[:2] == [read, read]
        assert codes[2:] == ([201, 200] if may_write else [403, 403] if level >= GUEST else [404, 404]), level


async def test_a_running_job_releases_with_its_token_in_its_users_name(site: Site) -> None:
    await site.commit(FILES)
    await site.world.pipeline("job: {script: release-cli create}\n")
    job = await site.world.job()
    async with site.client(headers={"JOB-TOKEN": job["token"]}) as client:
        made = await client.post(address(site), json=FULL)
        assert (made.status_code, made.json()["author"]["username"]) == (201, "root")
        assert (await client.get(address(site, "/rel%2F1.0"))).status_code == 200
        async with site.client(site.root) as root:
            other = (await root.post("/api/v4/projects", json={"name": "other"})).json()
        elsewhere = await client.get(f"/api/v4/projects/{other['id']}/releases")
        assert (elsewhere.status_code, elsewhere.json()["message"]) == (404, "404 Project Not Found")
        await site.world.put(job, "success", b"")
        late = await client.post(address(site), json={**FULL, "tag_name": "late"})
    assert (late.status_code, late.headers["job-status"]) == (403, "success")


async def test_a_job_token_gives_no_more_than_its_user_has(site: Site) -> None:
    await site.commit(FILES)
    reader = await site.person("reader", REPORTER)
    await site.world.pipeline("job: {script: x}\n")
    job = await site.world.job()
    async with site.services.database.write() as connection:
        await connection.execute(job_table.update().values(user_id=reader.id))
    async with site.client(headers={"JOB-TOKEN": job["token"]}) as client:
        assert (await client.get(address(site))).status_code == 200
        assert (await client.post(address(site), json=FULL)).status_code == 403
    async with site.client(headers={"JOB-TOKEN": "glcbt-wrong"}) as client:
        assert (await client.get(address(site))).status_code == 403
    async with site.services.database.read() as connection:
        assert await releases.find(connection, site.world.project_id, "rel/1.0") is None
