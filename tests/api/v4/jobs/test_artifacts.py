"""Artifacts over the REST API: read, listed, kept, deleted, by whom."""

import io
import zipfile
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import select, update

from loops.artifacts import ArtifactLoop
from loops.reports import ReportLoop
from models.repositories.artifacts.artifacts import artifact, pipeline
from models.repositories.artifacts.reports import report
from tests.api.v4.jobs.test_jobs import address
from tests.api.v4.site import Site

GUEST, REPORTER, DEVELOPER, MAINTAINER = 10, 20, 30, 40
FILES = {"a.txt": "1", "out/b.txt": "22", "out/deep/c.txt": "333", "out/deep/d/e.txt": "4444"}


def archive(files: dict[str, str]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as target:
        for name, text in files.items():
            target.writestr(name, text)
    return packed.getvalue()


async def test_artifacts_come_whole_or_file_by_file_and_never_as_a_page(site: Site) -> None:
    await site.world.pipeline()
    job = await site.world.job()
    content = archive({"out/page.html": "<script>alert(1)</script>", "a b": "1"})
    response = await site.world.upload(job, content, artifact_format="zip", artifact_type="archive")
    assert response.status_code == 201, response.text
    async with site.client(site.root) as client:
        whole = await client.get(address(site, f"/{job['id']}/artifacts"))
        page = await client.get(address(site, f"/{job['id']}/artifacts/out/page.html"))
        spaced = await client.get(address(site, f"/{job['id']}/artifacts/a%20b"))
        missing = await client.get(address(site, f"/{job['id']}/artifacts/out/none"))
        outside = await client.get(address(site, f"/{job['id']}/artifacts/..%2Fpage"))
        shown = (await client.get(address(site, f"/{job['id']}"))).json()
    assert whole.content == content
    assert whole.headers["content-length"] == str(len(content))
    assert page.text == "<script>alert(1)</script>"
    for download in (whole, page):
        assert download.headers["content-disposition"].startswith("attachment; ")
        assert download.headers["x-content-type-options"] == "nosniff"
        assert "html" not in download.headers["content-type"]
    assert spaced.text == "1"
    assert (missing.status_code, outside.status_code) == (404, 404)
    assert shown["artifacts_file"]["size"] == len(content)
    assert [item["file_type"] for item in shown["artifacts"]] == ["archive"]


async def expire(site: Site) -> None:
    """Let the time of all artifacts be over."""
    async with site.services.database.write() as connection:
        past = site.services.clock() - timedelta(seconds=1)
        await connection.execute(artifact.update().values(expire_at=past))


async def test_artifacts_that_are_missing_or_expired_are_not_found(site: Site) -> None:
    await site.set_project(keep_latest_artifacts=False)
    await site.world.pipeline()
    job = await site.world.job()
    async with site.client(site.root) as client:
        none = await client.get(address(site, f"/{job['id']}/artifacts"))
        await site.world.upload(job, archive({"a": "b"}))
        await expire(site)
        expired = await client.get(address(site, f"/{job['id']}/artifacts"))
        await site.set_project(keep_latest_artifacts=True)
        kept = await client.get(address(site, f"/{job['id']}/artifacts"))
    assert (none.status_code, expired.status_code, kept.status_code) == (404, 404, 200)


async def succeeded(site: Site, files: dict[str, str] = FILES, config: str = "build: {script: x}\n") -> int:
    """A job of a successful pipeline with an archive of these files; its id."""
    pipeline_id = await site.world.pipeline(config)
    job = await site.world.job()
    assert (await site.world.upload(job, archive(files))).status_code == 201
    await site.world.put(job, "success", b"")
    await site.world.settle(pipeline_id)
    return int(job["id"])


async def test_one_range_of_the_archive(site: Site) -> None:
    job_id = await succeeded(site)
    async with site.client(site.root) as client:
        whole = await client.get(address(site, f"/{job_id}/artifacts"))
        part = await client.get(address(site, f"/{job_id}/artifacts"), headers={"Range": "bytes=2-5"})
    assert whole.headers["accept-ranges"] == "bytes"
    assert (part.status_code, part.content) == (206, whole.content[2:6])
    assert part.headers["content-disposition"].startswith("attachment; ")


async def test_the_list_of_an_archive_folder_by_folder(site: Site) -> None:
    job_id = await succeeded(site)
    async with site.client(site.root) as client:

        async def listed(**query: Any) -> list[tuple[str, str, object]]:
            response = await client.get(address(site, f"/{job_id}/artifacts/tree"), params=query)
            return [(item["path"], item["type"], item["size"]) for item in response.json()]

        assert await listed() == [("a.txt", "file", 1), ("out", "directory", None)]
        assert await listed(path="out/") == [("out/b.txt", "file", 2), ("out/deep", "directory", None)]
        assert await listed(path="nowhere") == []
        assert [path for path, *_ in await listed(recursive=True)] == sorted(FILES)
        assert [path for path, *_ in await listed(recursive=True, per_page=2, page=2)] == sorted(FILES)[2:]
        total = await client.get(address(site, f"/{job_id}/artifacts/tree"), params={"recursive": True, "per_page": 1})
    assert total.headers["x-total"] == "4"


async def test_by_ref_and_name_of_the_job(site: Site) -> None:
    await succeeded(site, {"a": "old"})
    job_id = await succeeded(site, {"a": "new", "out/raw/x": "inner"})
    await site.world.pipeline("build: {script: x}\n")
    async with site.services.database.write() as connection:
        await connection.execute(update(pipeline).values(ref="feature/one"))
    async with site.client(site.root) as client:

        async def get(rest: str, job: str = "build") -> object:
            response = await client.get(address(site, f"/artifacts/{rest}"), params={"job": job})
            return response.text if response.status_code == 200 else response.status_code

        whole = await client.get(address(site, "/artifacts/feature%2Fone/download"), params={"job": "build"})
        by_id = await client.get(address(site, f"/{job_id}/artifacts"))
        assert whole.content == by_id.content
        for ref in ("feature/one", "feature%2Fone"):
            assert await get(f"{ref}/raw/a") == "new"
            assert await get(f"{ref}/raw/out/raw/x") == "inner"
        for wrong in ("main/raw/a", "feature/one/raw/none", "feature/one", "feature/one/other"):
            assert await get(wrong) == 404, wrong
        assert await get("feature/one/raw/a", job="other") == 404
        assert (await client.get(address(site, "/artifacts/main/download"))).status_code == 400


@pytest.mark.parametrize(
    ("access", "allowed"),
    [
        ("all", {REPORTER, DEVELOPER, MAINTAINER}),
        ("developer", {DEVELOPER, MAINTAINER}),
        ("maintainer", {MAINTAINER}),
        ("none", set()),
    ],
)
async def test_who_may_read_them(site: Site, access: str, allowed: set[int]) -> None:
    job_id = await succeeded(site, config=f"build: {{script: x, artifacts: {{paths: [o], access: {access}}}}}\n")
    paths = (f"/{job_id}/artifacts", f"/{job_id}/artifacts/a.txt", f"/{job_id}/artifacts/tree")
    by_ref = ("/artifacts/main/download?job=build", "/artifacts/main/raw/a.txt?job=build")
    for level in (0, GUEST, REPORTER, DEVELOPER, MAINTAINER):
        expected = 200 if level in allowed else 404 if level < GUEST else 403
        async with site.client(await site.person(f"level{level}", level)) as client:
            for path in (*paths, *by_ref):
                assert (await client.get(address(site, path))).status_code == expected, f"{level} {path}"


async def test_public_is_read_by_everybody_but_not_what_is_for_members(site: Site) -> None:
    await site.set_project(visibility="public")
    public = await succeeded(site)
    private = await succeeded(site, config="build: {script: x, artifacts: {paths: [o], public: false}}\n")
    async with site.client() as stranger:
        assert (await stranger.get(address(site, f"/{public}/artifacts"))).status_code == 200
        assert (await stranger.get(address(site, f"/{private}/artifacts"))).status_code == 401


async def test_kept_for_ever_by_developers(site: Site) -> None:
    await site.set_project(keep_latest_artifacts=False)
    job_id = await succeeded(site)
    async with site.client(site.root) as client:
        await client.delete(f"/api/v4/projects/{site.world.project_id}/protected_branches/main")
    async with site.client(await site.person("reporter", REPORTER)) as client:
        assert (await client.post(address(site, f"/{job_id}/artifacts/keep"))).status_code == 403
    async with site.client(await site.person("developer", DEVELOPER)) as client:
        before = (await client.get(address(site, f"/{job_id}"))).json()["artifacts_expire_at"]
        response = await client.post(address(site, f"/{job_id}/artifacts/keep"))
        await site.world.pipeline()
        bare = (await site.world.job())["id"]
        empty = await client.post(address(site, f"/{bare}/artifacts/keep"))
    assert before.endswith("Z")
    assert (response.status_code, response.json()["artifacts_expire_at"]) == (200, None)
    assert empty.status_code == 404


async def test_deleted_by_maintainers_with_all_that_their_reports_said(site: Site) -> None:
    pipeline_id = await site.world.pipeline("build: {script: x}\n")
    job = await site.world.job()
    await site.world.upload(job, archive(FILES))
    await site.world.upload(job, b'{"create": 1}', artifact_type="terraform", artifact_format="raw")
    await ReportLoop(site.services.database, site.services.store, site.services.notifications).parse()
    path = address(site, f"/{job['id']}/artifacts")
    async with site.client(await site.person("developer", DEVELOPER)) as client:
        assert (await client.delete(path)).status_code == 403
    async with site.client(await site.person("maintainer", MAINTAINER)) as client:
        assert (await client.delete(path)).status_code == 409
        await site.world.put(job, "success", b"")
        await site.world.settle(pipeline_id)
        assert (await client.delete(path)).status_code == 204
        assert (await client.get(path)).status_code == 404
        shown = (await client.get(address(site, f"/{job['id']}"))).json()
    assert shown["artifacts"] == []
    async with site.services.database.read() as connection:
        assert (await connection.execute(select(report))).all() == []
    loop = ArtifactLoop(site.services.database, site.services.store, 1)
    assert await loop.delete_unused() == 2


async def test_all_artifacts_of_a_project_expire_but_for_the_latest(site: Site) -> None:
    old, latest = await succeeded(site), await succeeded(site)
    path = f"/api/v4/projects/{site.world.project_id}/artifacts"
    async with site.client(await site.person("developer", DEVELOPER)) as client:
        assert (await client.delete(path)).status_code == 403
    async with site.client(await site.person("maintainer", MAINTAINER)) as client:
        assert (await client.delete(path)).status_code == 202
        await ArtifactLoop(site.services.database, site.services.store, 1).expire()
        gone = await client.get(address(site, f"/{old}/artifacts"))
        kept = await client.get(address(site, f"/{latest}/artifacts"))
    assert (gone.status_code, kept.status_code) == (404, 200)


async def test_who_may_change_what_a_project_keeps(site: Site) -> None:
    path = f"/api/v4/projects/{site.world.project_id}"
    async with site.client(await site.person("maintainer", MAINTAINER)) as client:
        kept = await client.put(path, json={"keep_latest_artifact": False})
        size = await client.put(path, json={"max_artifacts_size": 5})
    async with site.client(site.root) as client:
        by_admin = await client.put(path, json={"max_artifacts_size": 5})
    assert (kept.status_code, kept.json()["keep_latest_artifact"]) == (200, False)
    assert size.status_code == 403
    assert (by_admin.status_code, by_admin.json()["max_artifacts_size"]) == (200, 5)


@pytest.mark.parametrize("fault", ["missing", "rotten"])
async def test_what_the_store_has_lost_is_never_a_good_answer(site: Site, fault: str) -> None:
    job_id = await succeeded(site, {"a.txt": "1" * 1_000})
    (file,) = (site.services.settings.home / "objects").rglob("archive-*")
    if fault == "missing":
        file.unlink()
    else:
        content = bytearray(file.read_bytes())
        content[40] ^= 1
        file.write_bytes(content)
    async with site.client(site.root) as client:
        whole = await client.get(address(site, f"/{job_id}/artifacts"))
        one = await client.get(address(site, f"/{job_id}/artifacts/a.txt"))
    assert (whole.status_code, one.status_code) == ((404, 404) if fault == "missing" else (503, 400))
