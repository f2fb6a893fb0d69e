"""Files beside a project: kept, linked, fetched by their address, listed, removed, and gone with the project."""

import asyncio
from typing import Any

import gitlab
import pytest

from models.columns import table_of
from models.tables.uploads import ProjectUpload
from settings import SizeLimits
from tests.api.v4.projects.test_project_removal import loop_of
from tests.api.v4.projects.test_removal import objects
from tests.api.v4.site import Person, Site, serving

CONTENT = b"\x00 a release \xff"


@pytest.fixture
async def dev(site: Site) -> Person:
    """Somebody who may push, in a project with a commit."""
    await site.commit({"README": "x"})
    return await site.person("dev", 30)


def base(site: Site) -> str:
    return f"/api/v4/projects/{site.world.project_id}/uploads"


async def brought(site: Site, who: Person, name: str = "app 1.zip", content: bytes = CONTENT) -> dict[str, Any]:
    async with site.client(who) as client:
        made = await client.post(base(site), files={"file": (name, content)})
    assert made.status_code == 201, made.text
    found: dict[str, Any] = made.json()
    return found


async def fetched(site: Site, address: str, who: Person | None) -> tuple[int, bytes]:
    async with site.client(who) as client:
        response = await client.get(address)
    return response.status_code, response.content


async def test_a_file_is_kept_under_an_address_that_nobody_guesses(site: Site, dev: Person) -> None:
    made, again = await brought(site, dev), await brought(site, dev)
    assert made["url"] != again["url"]
    assert made["url"].startswith("/uploads/")
    assert made["url"].endswith("/app_1.zip")
    assert made["full_path"] == f"/-/project/{site.world.project_id}{made['url']}"
    assert (made["alt"], made["markdown"]) == ("app_1.zip", f"[app_1.zip]({made['url']})")
    picture = await brought(site, dev, "dk.png")
    assert (picture["alt"], picture["markdown"]) == ("dk", f"![dk]({picture['url']})")
    reader, stranger = await site.person("reader", 20), await site.person("stranger")
    by_name = base(site) + made["url"].removeprefix("/uploads")
    for address in (made["full_path"], by_name):
        assert await fetched(site, address, reader) == (200, CONTENT)
        assert (await fetched(site, address, stranger))[0] == 404
        assert (await fetched(site, address, None))[0] in {303, 401, 404}
    wrong = made["full_path"].replace(made["url"].split("/")[2], "0" * 32)
    assert (await fetched(site, wrong, reader))[0] == 404


async def test_a_browser_saves_it_and_never_shows_it(site: Site, dev: Person) -> None:
    made = await brought(site, dev, "evil.html", b"<script>alert(1)</script>")
    async with site.client(dev) as client:
        response = await client.get(made["full_path"])
        part = await client.get(made["full_path"], headers={"Range": "bytes=1-6"})
    assert response.headers["content-disposition"].startswith("attachment; ")
    assert response.headers["x-content-type-options"] == "nosniff"
    assert "sandbox" in response.headers["content-security-policy"]
    assert (part.status_code, part.content) == (206, b"script")


async def test_who_may_bring_list_and_remove(site: Site, dev: Person) -> None:
    made = await brought(site, dev)
    reporter, keeper = await site.person("reporter", 20), await site.person("keeper", 40)
    async with site.client(reporter) as client:
        assert (await client.post(base(site), files={"file": ("a", b"a")})).status_code == 403
    for person in (dev, reporter):
        async with site.client(person) as client:
            assert (await client.get(base(site))).status_code == 403
            assert (await client.delete(f"{base(site)}/{made['id']}")).status_code == 403
    async with site.client(keeper) as client:
        (row,) = (await client.get(base(site))).json()
        assert (row["id"], row["size"], row["filename"]) == (made["id"], len(CONTENT), "app_1.zip")
        assert row["uploaded_by"] == {"id": dev.id, "name": "Dev", "username": "dev"}
        assert (await client.get(f"{base(site)}/{made['id']}")).content == CONTENT
        assert (await client.delete(f"{base(site)}/{made['id']}")).status_code == 204
        other = await brought(site, dev)
        assert (await client.delete(base(site) + other["url"].removeprefix("/uploads"))).status_code == 204
        assert (await client.get(base(site))).json() == []
    assert (await fetched(site, made["full_path"], dev))[0] == 404


async def test_one_that_is_too_large_or_has_no_name_is_refused_in_words(site: Site, dev: Person) -> None:
    small = site.services.settings.model_copy(update={"sizes": SizeLimits(upload_bytes=10)})
    object.__setattr__(site.services, "settings", small)
    async with site.client(dev) as client:
        large = await client.post(base(site), files={"file": ("a", b"x" * 11)})
        without = await client.post(base(site), data={"file": "a"})
        assert (await client.post(base(site), files={"file": ("../..", b"x")})).json()["alt"] == "_.."
    assert large.status_code == 413
    assert "PERDURE_UPLOAD_BYTES" in large.json()["message"]
    assert (without.status_code, "part named file" in without.json()["message"]) == (400, True)
    async with site.services.database.read() as connection:
        assert len((await connection.execute(table_of(ProjectUpload).select())).all()) == 1


async def test_python_gitlab_brings_one_and_it_goes_with_its_project(site: Site, dev: Person) -> None:
    def talk(url: str) -> Any:
        api = gitlab.Gitlab(url, private_token=dev.token)
        told = api.projects.get(site.world.project_id).upload("a.txt", filedata=b"text")
        api.session.close()
        return told

    async with serving(site) as url:
        told = await asyncio.to_thread(talk, url)
    assert (told["alt"], told["markdown"]) == ("a.txt", f"[a.txt]({told['url']})")
    made = await brought(site, dev)
    async with site.client(site.root) as client:
        assert (await client.delete(f"{base(site)}/{made['id']}")).status_code == 204
        await loop_of(site).remove_marked()
        assert len(await objects(site)) == 1, "the content of a removed file is removed"
        assert (await client.delete(f"/api/v4/projects/{site.world.project_id}")).status_code == 202
    await loop_of(site).remove_marked()
    assert await objects(site) == set()
