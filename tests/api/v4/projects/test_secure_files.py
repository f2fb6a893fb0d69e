"""Secure files: kept sealed, handed to developers and jobs, limited in size and number, gone with their project."""

import asyncio
import hashlib
from typing import Any

import gitlab
import httpx
import pytest

from domain.projects.secure_files import LIMIT, MAX_FILES
from models.repositories.projects import secure_files
from tests.api.v4.jobs.test_job_tokens import running
from tests.api.v4.projects.test_project_removal import loop_of
from tests.api.v4.projects.test_removal import objects
from tests.api.v4.site import Site, serving
from tests.api.v4.told_faults import told_faults

REPORTER, DEVELOPER, MAINTAINER = 20, 30, 40
CONTENT = b"\x00\xffkeystore of the app" * 1000


def place(site: Site) -> str:
    return f"/api/v4/projects/{site.world.project_id}/secure_files"


async def upload(client: httpx.AsyncClient, site: Site, name: str, content: bytes = CONTENT) -> httpx.Response:
    """Hand in a file."""
    return await client.post(place(site), data={"name": name} if name else {}, files={"file": ("x", content)})


async def test_python_gitlab_adds_lists_downloads_and_removes_files(site: Site) -> None:
    maintainer = await site.person("maintainer", MAINTAINER)

    def talk(url: str) -> dict[str, Any]:
        api = gitlab.Gitlab(url, private_token=maintainer.token)
        files = api.projects.get(site.world.project_id, lazy=True).secure_files
        made = files.create({"name": "app.jks", "file": CONTENT})
        assert [one.name for one in files.list(get_all=True)] == ["app.jks"]
        assert files.get(made.id).download() == CONTENT
        files.create({"name": "other.jks", "file": b"x"}).delete()
        assert len(files.list(get_all=True)) == 1
        api.session.close()
        return made.attributes

    async with serving(site) as url:
        document = await asyncio.to_thread(talk, url)
    assert len(await objects(site)) == 1, "the content of a removed file is removed"
    assert {name: value for name, value in document.items() if name not in {"id", "project_id", "created_at"}} == {
        "name": "app.jks",
        "checksum": hashlib.sha256(CONTENT).hexdigest(),
        "checksum_algorithm": "sha256",
        "expires_at": None,
        "metadata": None,
    }
    async with site.client(maintainer) as client:
        events = (await client.get(f"/api/v4/projects/{site.world.project_id}/audit_events")).json()
    assert [event["event_name"] for event in events[:3]] == [
        "secure_file_removed",
        "secure_file_created",
        "secure_file_created",
    ]


async def test_what_lies_in_the_store_is_sealed_and_opens_nowhere_else(site: Site) -> None:
    async with site.client(site.root) as client:
        first = (await upload(client, site, "first")).json()["id"]
        second = (await upload(client, site, "second", b"another")).json()["id"]
        one, two = sorted(await objects(site))
        root = site.services.store.root
        assert root is not None
        stored = [(root / key).read_bytes() for key in (one, two)]
        assert all(b"keystore" not in content and b"another" not in content for content in stored)
        (root / one).write_bytes(stored[1])
        (root / two).write_bytes(stored[0])
        for key in (first, second):
            moved = await client.get(f"{place(site)}/{key}/download")
            assert (moved.status_code, "cannot be opened" in moved.json()["message"]) == (503, True), moved.text


async def test_developers_read_maintainers_write_and_others_do_neither(site: Site) -> None:
    async with site.client(site.root) as client:
        key = (await upload(client, site, "app.jks")).json()["id"]
    for level, reads, writes in ((REPORTER, 403, 403), (DEVELOPER, 200, 403), (MAINTAINER, 200, 201)):
        async with site.client(await site.person(f"level{level}", level)) as client:
            for rest in ("", f"/{key}", f"/{key}/download"):
                assert (await client.get(place(site) + rest)).status_code == reads, (level, rest)
            assert (await upload(client, site, "more")).status_code == writes, level
            assert (await client.delete(f"{place(site)}/{key}")).status_code == (204 if writes == 201 else 403)


async def test_a_job_reads_the_files_of_its_project_while_it_runs(site: Site) -> None:
    async with site.client(site.root) as client:
        key = (await upload(client, site, "app.jks")).json()["id"]
    job = await running(site, await site.person("builder", DEVELOPER))
    async with site.client(headers={"JOB-TOKEN": job["token"]}) as client:
        assert [one["name"] for one in (await client.get(place(site))).json()] == ["app.jks"]
        assert (await client.get(f"{place(site)}/{key}/download")).content == CONTENT
        assert (await upload(client, site, "more")).status_code in {401, 404}
        assert (await client.delete(f"{place(site)}/{key}")).status_code in {401, 404}
        await site.world.put(job, "success", b"")
        assert (await client.get(f"{place(site)}/{key}/download")).status_code in {401, 403}


@pytest.mark.parametrize(
    ("name", "content", "status", "said"),
    [
        ("", b"x", 400, "name is missing"),
        ("../x", b"x", 400, "name is invalid"),
        ("a/b", b"x", 400, "name is invalid"),
        ("a\tb", b"x", 400, "name is invalid"),
        ("taken", b"x", 400, "has a secure file taken; remove that one first"),
        ("empty", b"", 400, "file is invalid: it is empty"),
        ("large", b"x" * (LIMIT.size + 1), 413, "at most 5,242,880 bytes (5 MiB)"),
    ],
)
async def test_a_file_that_is_not_taken_is_told_why_and_leaves_nothing(
    site: Site, name: str, content: bytes, status: int, said: str
) -> None:
    async with site.client(site.root) as client:
        assert (await upload(client, site, "taken")).status_code == 201
        refused = await upload(client, site, name, content)
        assert (refused.status_code, said in told_faults(refused)) == (status, True), refused.text
        assert (await client.post(place(site), json={"name": "x"})).status_code == 400
    assert len(await objects(site)) == 1


async def test_a_project_has_a_hundred_files_and_the_largest_is_taken(site: Site) -> None:
    async with site.client(site.root) as client:
        assert (await upload(client, site, "largest", b"x" * LIMIT.size)).status_code == 201
        values = {"project_id": site.world.project_id, "size": 1, "sha256": "0" * 64}
        async with site.services.database.write() as connection:
            for number in range(MAX_FILES - 1):
                more = {"name": f"file{number}", "object_key": f"none/{number}"}
                await secure_files.add(connection, site.services.clock(), **values, **more)
        refused = await upload(client, site, "one-more")
        assert (refused.status_code, "100 secure files at most" in refused.json()["message"]) == (400, True)
        page = await client.get(place(site), params={"per_page": 2})
        assert ([one["name"] for one in page.json()], page.headers["x-total"]) == (["largest", "file0"], "100")


async def test_of_two_uploads_of_one_name_one_is_kept(site: Site) -> None:
    async with site.client(site.root) as client:
        responses = await asyncio.gather(*(upload(client, site, "same", b"%d" % number) for number in range(4)))
        assert sorted(response.status_code for response in responses) == [201, 400, 400, 400]
        (kept,) = (await client.get(place(site))).json()
        (made,) = (response.json() for response in responses if response.status_code == 201)
        assert kept == made
    assert len(await objects(site)) == 1


async def test_files_go_with_their_project(site: Site) -> None:
    async with site.client(site.root) as client:
        assert (await upload(client, site, "app.jks")).status_code == 201
        assert len(await objects(site)) == 1
        assert (await client.delete(f"/api/v4/projects/{site.world.project_id}")).status_code == 202
    await loop_of(site).remove_marked()
    assert await objects(site) == set()
