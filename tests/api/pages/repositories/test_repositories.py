"""Pages of commits, folders and files: what they show, what they leave out, and that foreign text stays text."""

import io
import re
import tarfile
import zipfile
from html import unescape

import httpx
import pytest

from tests.api.pages.markup import foreign_markup
from tests.api.pages.test_pages import EVIL, browser
from tests.api.v4.merge_requests.merging import Merging
from tests.api.v4.site import Site

EVIL_NAME = "<img src=x onerror=alert(1)>.txt"
TURNED = "\u202e turned"


async def seen(site: Site, path: str, status: int = 200) -> str:
    """A page below the project, as root sees it."""
    async with browser(site, site.root) as client:
        response = await client.get(f"/{await site.path()}/-/{path}")
    assert response.status_code == status, response.text
    assert_harmless(response)
    return response.text


def assert_harmless(response: httpx.Response) -> None:
    """Nothing of what others wrote became markup."""
    assert foreign_markup(response.text) == []
    assert "\u202e" not in response.text


@pytest.fixture
async def merging(site: Site) -> Merging:
    """A project with a first commit."""
    merging = Merging(site)
    await merging.begin()
    return merging


async def test_a_commit_shows_what_it_says_changed_and_brought_about(site: Site, merging: Merging) -> None:
    sha = await merging.commit("fix", {EVIL_NAME: f"{EVIL}{TURNED}\nlast"}, message=f"{EVIL}\n\nBody {EVIL}")
    await merging.good(
        "POST", f"statuses/{sha}", json={"state": "success", "name": EVIL, "target_url": "http://ci.example/1"}
    )
    text = await seen(site, f"commit/{sha}")
    assert "Body &lt;script&gt;" in text
    assert 'href="http://ci.example/1"' in text
    assert "[U+202E] turned" in text
    assert "characters that hide" in text
    assert "no newline at the end" in text
    assert f'id="{anchor(text)}_0_1"' in text
    assert "1 file</strong> changed" in text
    assert '/-/commits/fix"' in text
    assert await seen(site, f"commit/{sha[:10]}") == text
    assert "There is nothing here" in await seen(site, "commit/" + "0" * 40, 404)


def anchor(text: str) -> str:
    """The name of the first file's place."""
    found = re.search(r'<section class="diff-file" id="(\w{40})"', text)
    assert found is not None
    return found[1]


async def test_commits_of_a_ref_and_of_a_path_within_it(site: Site, merging: Merging) -> None:
    await merging.commit("feature/deep", {"docs": "one\n"}, message="Write docs")
    text = await seen(site, "commits/feature/deep")
    assert re.findall(r'<bdi class="title">(.*?)</bdi>', text) == ["Write docs", "First"]
    assert re.findall(r'<bdi class="title">(.*?)</bdi>', await seen(site, "commits/feature/deep/docs")) == [
        "Write docs"
    ]
    await seen(site, "commits/nowhere", 404)


async def test_folders_and_files_are_read_at_any_ref(site: Site, merging: Merging) -> None:
    content = f"{EVIL}\r\n{TURNED}\r\nthird\r\n"
    await merging.commit("feature/deep", {f"folder/{EVIL_NAME}": content, "data": "a\0b"})
    top = await seen(site, "tree/feature/deep")
    assert '/-/tree/feature/deep/folder"' in top
    folder = await seen(site, "tree/feature/deep/folder")
    (link,) = re.findall(r'href="/[^"]*(/-/blob/feature/deep/folder/[^"]*)"', folder)
    text = await seen(site, unescape(link).removeprefix("/-/"))
    assert '<tr id="L3">' in text
    assert "third</td>" in text
    assert "[U+202E]" in text
    assert "A binary file." in await seen(site, "blob/feature/deep/data")
    for place, status in (("blob/feature/deep/folder", 303), ("tree/feature/deep/data", 303), ("blob/main/none", 404)):
        await seen(site, place, status)
    await seen(site, "tree/main/../../etc", 404)


async def test_two_refs_are_compared(site: Site, merging: Merging) -> None:
    await merging.commit("feature/deep", {"one": "1\n"}, message=EVIL)
    await merging.commit("main", {"two": "2\n"})
    text = await seen(site, "compare/main...feature/deep")
    assert "1 commit<" in text
    assert "1 file</strong> changed" in text
    assert "2 files</strong> changed" in await seen(site, "compare/main..feature/deep")
    await seen(site, "compare/main", 404)
    await seen(site, "compare/main...nowhere", 404)


async def test_a_large_difference_comes_in_pages(site: Site, merging: Merging) -> None:
    files = {f"many/{number:03}": f"{number}\n" for number in range(45)} | {
        "big": "".join(f"{n}\n" for n in range(500))
    }
    sha = await merging.commit("large", files)
    first = await seen(site, f"commit/{sha}")
    assert "46 files</strong> changed" in first
    assert first.count('<section class="diff-file"') == 20
    assert "Many lines differ." in first
    assert "Page 1 of 3" in first
    third = await seen(site, f"commit/{sha}?page=3")
    assert third.count('<section class="diff-file"') == 6
    alone = await seen(site, f"commit/{sha}?file=big")
    assert alone.count('<tr class="added"') == 500
    await seen(site, f"commit/{sha}?file=none", 404)


async def test_renames_modes_and_files_that_end_differently_are_told(site: Site, merging: Merging) -> None:
    await merging.commit("main", {"old": "".join(f"line {n}\n" for n in range(30)), "tool": "run\n"})
    body = {
        "branch": "main",
        "commit_message": "Move",
        "actions": [
            {"action": "move", "file_path": "new", "previous_path": "old"},
            {"action": "chmod", "file_path": "tool", "execute_filemode": True},
            {"action": "delete", "file_path": "README"},
        ],
    }
    sha = (await merging.good("POST", "repository/commits", json=body))["id"]
    text = await seen(site, f"commit/{sha}")
    for words in ("renamed from old", "mode changed from 100644 to 100755", ">deleted<", "No line differs."):
        assert words in text, words


async def test_strangers_see_none_of_it(site: Site, merging: Merging) -> None:
    path = await site.path()
    stranger = await site.person("stranger")
    for place in ("commits/main", "commit/main", "tree/main", "blob/main/README", "compare/main...main"):
        for person in (None, stranger):
            async with browser(site, person) as client:
                assert (await client.get(f"/{path}/-/{place}")).status_code == 404


async def test_releases_and_tags_are_shown_with_what_is_to_be_had(site: Site, merging: Merging) -> None:
    sha = await merging.commit("fix", {"docs/a.md": "of the tag\n"}, message=EVIL)
    await merging.good("POST", "repository/tags", json={"tag_name": "rel/1", "ref": sha, "message": EVIL})
    link = {"name": EVIL, "url": "https://files.example/app", "link_type": "package"}
    wanted = {"tag_name": "rel/1", "name": EVIL, "description": f"**bold** {EVIL}", "assets": {"links": [link]}}
    await merging.good("POST", "releases", json=wanted)
    await merging.good("POST", "repository/tags", json={"tag_name": "plain", "ref": sha})
    for place in ("releases", "releases/rel%2F1", "releases/permalink/latest"):
        text = await followed(site, place)
        assert "<strong>bold</strong> &lt;script&gt;" in text
        assert 'href="https://files.example/app"' in text
        assert f'href="/{await site.path()}/-/archive/rel/1/app-rel-1.tar.gz"' in text
        assert "/-/tags/rel%2F1" in text
    tags = await seen(site, "tags")
    assert "/-/tags/plain" in tags
    assert "/-/releases/rel/1" in tags
    one = await seen(site, "tags/rel%2F1")
    assert "/-/tags/plain" not in one
    await seen(site, "tags/none", 404)
    await seen(site, "releases/none", 404)


async def followed(site: Site, path: str) -> str:
    """A page, also where its address leads on."""
    async with browser(site, site.root) as client:
        response = await client.get(f"/{await site.path()}/-/{path}", follow_redirects=True)
    assert response.status_code == 200, response.text
    assert_harmless(response)
    return response.text


async def test_files_and_trees_are_saved_at_a_ref(site: Site, merging: Merging) -> None:
    await merging.commit("feature/x", {"docs/a.html": "<b>raw</b>\n"}, message="A file")
    async with browser(site, site.root) as client:
        base = f"/{await site.path()}/-"
        raw = await client.get(f"{base}/raw/feature/x/docs/a.html")
        packed = await client.get(f"{base}/archive/feature/x/app-feature-x.tar")
        short = await client.get(f"{base}/archive/feature/x.zip")
        lost = [
            await client.get(f"{base}/{place}")
            for place in (
                *("raw/feature/x", "raw/feature/x/docs", "raw/feature/x/none", "raw/none/docs/a.html"),
                *(
                    "archive/feature/x/a/b.zip",
                    "archive/feature/x",
                    "archive/none/app.zip",
                    "archive/feature/x/app.rar",
                ),
            )
        ]
    assert raw.text == "<b>raw</b>\n"
    assert raw.headers["content-disposition"].startswith("attachment")
    assert raw.headers["content-security-policy"] == "default-src 'none'; sandbox"
    with tarfile.open(fileobj=io.BytesIO(packed.content)) as archive:
        assert "app-feature-x/docs/a.html" in archive.getnames()
    with zipfile.ZipFile(io.BytesIO(short.content)) as archive:
        assert "app-feature-x/docs/a.html" in archive.namelist()
    assert 'filename="app-feature-x.zip"' in short.headers["content-disposition"]
    assert {response.status_code for response in lost} == {404}
