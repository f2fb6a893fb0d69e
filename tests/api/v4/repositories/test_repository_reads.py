"""Reading a repository over the REST API: odd names, large trees, empty repositories, rights."""

import base64
import hashlib
from urllib.parse import quote

import httpx
import pytest

from git.reading.diffs import DiffLimits
from tests.api.v4.site import Site
from tests.git.serving import git, new_commit

NAMES = ["ä ö/ü.txt", "with space", "50%", "a+b&c=d", "plus#hash?", "-dash", "a..b", "x/raw"]


@pytest.fixture
def database_url(sqlite_url: str) -> str:
    """One kind of database does: this is about git."""
    return sqlite_url


def address(site: Site, rest: str = "") -> str:
    return f"/api/v4/projects/{site.world.project_id}/repository{rest}"


def file_at(site: Site, path: str, rest: str = "") -> str:
    return address(site, f"/files/{quote(path, safe='')}{rest}")


async def push(site: Site, *refs: str) -> None:
    await git("push", "-q", site.services.repositories.path(site.world.project_id), *refs, cwd=site.folder / "tree")


async def test_files_with_odd_names(site: Site) -> None:
    sha = await site.commit({name: f"{name}\n" for name in NAMES})
    async with site.client(site.root) as client:
        for name in NAMES:
            content = f"{name}\n".encode()
            found = await client.get(file_at(site, name), params={"ref": "main"})
            assert found.status_code == 200, (name, found.text)
            document = found.json()
            assert base64.b64decode(document["content"]) == content
            assert (document["file_path"], document["file_name"]) == (name, name.rpartition("/")[2])
            assert (document["commit_id"], document["last_commit_id"], document["ref"]) == (sha, sha, "main")
            assert document["content_sha256"] == hashlib.sha256(content).hexdigest()
            assert document["execute_filemode"] is False
            raw = await client.get(file_at(site, name, "/raw"))
            assert (raw.content, raw.headers["content-length"]) == (content, str(len(content)))
            head = await client.head(file_at(site, name), params={"ref": "main"})
            assert (head.status_code, head.content) == (200, b"")
            assert head.headers["x-gitlab-size"] == str(len(content))
            assert bytes(head.headers["x-gitlab-file-path"], head.headers.encoding).decode() == name


NESTED = base64.urlsafe_b64encode(b"[" * 7_000).decode()
MISSING = "1" * 40


@pytest.mark.parametrize(
    ("path", "status", "message"),
    [
        ("/files/a", 400, "ref"),
        ("/files/nope?ref=main", 404, "404 File Not Found"),
        ("/files/a?ref=nope", 404, "404 Commit Not Found"),
        ("/files/d?ref=main", 404, "404 File Not Found"),
        ("/files/..%2Fa?ref=main", 400, "file_path should be a valid file path"),
        ("/files/nope/raw", 404, "404 File Not Found"),
        ("/tree?path=nope", 404, "404 invalid revision or path Not Found"),
        ("/tree?path=a", 404, "404 invalid revision or path Not Found"),
        ("/tree?ref=nope", 404, "404 Tree Not Found"),
        ("/tree?path=../..", 400, "is not a path in a repository"),
        ("/tree?pagination=keyset&page_token=zz", 400, "page_token is invalid"),
        (f"/blobs/{'1' * 40}", 404, "404 Blob Not Found"),
        ("/blobs/nope/raw", 404, "404 Blob Not Found"),
        ("/archive?sha=nope", 404, "404 File Not Found"),
        ("/archive?path=nope", 404, "404 File Not Found"),
        ("/archive.rar", 404, "404 Not Found"),
        ("/merge_base?refs[]=main", 400, "Provide at least 2 refs"),
        ("/merge_base?" + "&".join(f"refs[]={n}" for n in range(21)), 400, "at most 20"),
        ("/merge_base?refs[]=main&refs[]=nope", 400, "Could not find ref: nope"),
        ("/compare?from=main", 400, "to"),
        ("/compare?from=main&to=nope", 404, "404 Ref Not Found"),
        ("/commits/nope", 404, "404 Commit Not Found"),
        ("/commits/main..main", 404, "404 Commit Not Found"),
        (f"/tree?pagination=keyset&page_token={NESTED}", 400, "page_token is invalid"),
        (f"/tree?pagination=keyset&page_token={'a' * 10_001}", 400, "page_token"),
        ("/commits?pagination=keyset&page_token=1_--help", 400, "page_token is invalid"),
        (f"/commits?pagination=keyset&page_token=0{f'_{MISSING}' * 3}", 400, "page_token is invalid"),
        (f"/commits?pagination=keyset&page_token={'9' * 200}", 400, "page_token is invalid"),
        (f"/commits?pagination=keyset&page_token=0_{MISSING}", 400, "page_token is invalid"),
        ("/commits?order=none", 400, "order"),
        ("/branches/nope", 404, "404 Branch Not Found"),
        ("/branches/refs%2Fheads%2Fmain", 404, "404 Branch Not Found"),
        ("/branches/a%20b", 404, "404 Branch Not Found"),
        ("/branches?regex=(", 400, "must be a regular expression"),
        ("/tags/nope", 404, "404 Tag Not Found"),
        (f"/branches/{'x' * 4000}", 404, "404 Branch Not Found"),
    ],
)
async def test_what_is_not_there_is_told_in_gitlabs_words(site: Site, path: str, status: int, message: str) -> None:
    await site.commit({"a": "1\n", "d/e": "2\n"})
    async with site.client(site.root) as client:
        response = await client.get(address(site, path))
    assert (response.status_code, message in str(response.json()["message"])) == (status, True), response.text


@pytest.mark.slow
async def test_a_tree_of_ten_thousand_files_is_paged_both_ways(site: Site) -> None:
    await site.commit({f"files/{number:05}": "" for number in range(10_000)})
    async with site.client(site.root) as client:
        last = await client.get(address(site, "/tree"), params={"path": "files", "per_page": 100, "page": 100})
        assert [item["name"] for item in last.json()] == [f"{number:05}" for number in range(9_900, 10_000)]
        assert (last.headers["x-total"], last.headers["x-total-pages"], last.headers["x-next-page"]) == (
            "10000",
            "100",
            "",
        )
        url = address(site, "/tree?path=files&pagination=keyset&per_page=100&recursive=true")
        names: list[str] = []
        while url:
            page = await client.get(url)
            names += [item["name"] for item in page.json()]
            url = page.links.get("next", {}).get("url", "")
        assert names == [f"{number:05}" for number in range(10_000)]


async def test_an_empty_repository_is_no_error(site: Site) -> None:
    await site.services.repositories.create(site.world.project_id, "main")
    async with site.client(site.root) as client:
        assert (await client.get(address(site, "/branches"))).json() == []
        assert (await client.get(address(site, "/tags"))).json() == []
        assert (await client.get(address(site, "/commits"))).json() == []
        assert (await client.get(address(site, "/commits?all=true"))).json() == []
        assert (await client.get(address(site, "/tree"))).status_code == 404
        assert (await client.get(address(site, "/archive"))).status_code == 404
        assert (await client.get(address(site, "/contributors"))).status_code == 404


async def test_submodules_binaries_and_large_files(site: Site) -> None:
    await site.commit({"a": "1\n"})
    tree = site.folder / "tree"
    (tree / "bin").write_bytes(bytes(range(256)))
    (tree / "large").write_text("x" * 8_000_000)
    await git("add", ".", cwd=tree)
    await git("update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},mod", cwd=tree)
    await git("commit", "-q", "-m", "More", cwd=tree)
    await push(site, "main")
    async with site.client(site.root) as client:
        entries = (await client.get(address(site, "/tree"))).json()
        kinds = {item["path"]: (item["type"], item["mode"]) for item in entries}
        assert kinds["mod"] == ("commit", "160000")
        assert (await client.get(file_at(site, "mod"), params={"ref": "main"})).status_code == 404
        assert (await client.get(file_at(site, "bin", "/raw"))).content == bytes(range(256))
        assert len((await client.get(file_at(site, "large", "/raw"))).content) == 8_000_000
        diff = {item["new_path"]: item for item in (await client.get(address(site, "/commits/main/diff"))).json()}
    assert diff["mod"]["diff"] == f"@@ -0,0 +1 @@\n+Subproject commit {'1' * 40}\n"
    assert diff["bin"]["diff"] == "Binary files /dev/null and b/bin differ\n"
    assert (diff["large"]["too_large"], diff["large"]["diff"]) == (True, "")


async def test_commits_are_paged_without_counting_them(site: Site) -> None:
    await site.commit({"a": "0"})
    for number in range(1, 5):
        await new_commit(site.folder / "tree", {"a": str(number)}, f"n{number}")
    await push(site, "main")
    async with site.client(site.root) as client:
        first = await client.get(address(site, "/commits"), params={"per_page": 2})
        assert [item["title"] for item in first.json()] == ["n4", "n3"]
        assert (first.headers["x-next-page"], "x-total" in first.headers) == ("2", False)
        assert set(first.links) == {"first", "next"}
        last = await client.get(address(site, "/commits"), params={"per_page": 2, "page": 3})
        assert ([item["title"] for item in last.json()], last.headers["x-next-page"]) == (["First"], "")
        keyset = await client.get(address(site, "/commits"), params={"per_page": 2, "pagination": "keyset"})
        await new_commit(site.folder / "tree", {"a": "more"}, "n5")
        await push(site, "main")
        second = await client.get(keyset.links["next"]["url"])
        assert [item["title"] for item in second.json()] == ["n2", "n1"], "a push in between shifts no page"
        between = await client.get(address(site, "/commits"), params={"ref_name": "main~2..main"})
        assert [item["title"] for item in between.json()] == ["n5", "n4"]
        assert (await client.get(address(site, "/commits"), params={"ref_name": "nope"})).json() == []
        one = (await client.get(address(site, "/commits/main~1"))).json()
    assert (one["title"], one["stats"], one["last_pipeline"]) == (
        "n4",
        {"additions": 1, "deletions": 1, "total": 2},
        None,
    )


async def test_a_comparison_starts_where_the_two_parted(site: Site) -> None:
    await site.commit({"a": "1\n"})
    tree = site.folder / "tree"
    await git("checkout", "-q", "-b", "topic", cwd=tree)
    await new_commit(tree, {"t": "t\n"}, "topic 1")
    await new_commit(tree, {"t": "t2\n"}, "topic 2")
    await git("checkout", "-q", "main", cwd=tree)
    await new_commit(tree, {"m": "m\n"}, "main 1")
    await push(site, "main", "topic")
    async with site.client(site.root) as client:
        parted = (await client.get(address(site, "/compare?from=main&to=topic"))).json()
        straight = (await client.get(address(site, "/compare?from=main&to=topic&straight=true&unidiff=true"))).json()
        same = (await client.get(address(site, "/compare?from=main&to=main"))).json()
    assert [item["title"] for item in parted["commits"]] == ["topic 1", "topic 2"]
    assert parted["commit"] == parted["commits"][-1]
    assert [item["new_path"] for item in parted["diffs"]] == ["t"]
    assert {item["new_path"]: item["deleted_file"] for item in straight["diffs"]} == {"m": True, "t": False}
    assert straight["diffs"][1]["diff"] == "--- /dev/null\n+++ b/t\n@@ -0,0 +1 @@\n+t2\n"
    assert (same["commit"], same["commits"], same["diffs"], same["compare_same_ref"]) == (None, [], [], True)


async def test_a_comparison_of_too_many_files_says_that_it_is_cut(site: Site) -> None:
    begin = await site.commit({"a": "1\n"})
    await site.commit({f"f{number}": "" for number in range(DiffLimits().files + 1)})
    async with site.client(site.root) as client:
        whole = (await client.get(address(site, f"/compare?from={begin}&to=main"))).json()
        few = (await client.get(address(site, f"/compare?from={begin}&to={begin}"))).json()
    assert (len(whole["diffs"]), whole["compare_timeout"]) == (DiffLimits().files, True)
    assert (few["diffs"], few["compare_timeout"]) == ([], False)


async def test_who_may_read(site: Site) -> None:
    await site.commit({"a": "1\n"})
    paths = [
        "/tree",
        "/files/a?ref=main",
        "/files/a/raw",
        "/commits",
        "/commits/main",
        "/branches",
        "/tags",
        "/archive",
        "/compare?from=main&to=main",
        "/contributors",
        "/commits/main/statuses",
    ]
    people = [(None, 404), (await site.person("guest", 10), 403), (await site.person("reporter", 20), 200)]

    async def ask(client: httpx.AsyncClient) -> set[int]:
        return {(await client.get(address(site, path))).status_code for path in paths}

    for person, status in people:
        async with site.client(person) as client:
            assert await ask(client) == {status}
    await site.set_project(visibility="public")
    async with site.client() as client:
        assert await ask(client) == {200}
        (branch,) = (await client.get(address(site, "/branches"))).json()
        assert (branch["can_push"], branch["default"], branch["protected"]) == (False, True, True)


@pytest.mark.parametrize("query", ["page=1000000000&per_page=100", "pagination=keyset&page_token=999999999999"])
async def test_a_page_of_commits_behind_all_of_them_is_empty(site: Site, query: str) -> None:
    await site.commit({"a": "1\n"})
    async with site.client(site.root) as client:
        response = await client.get(f"/api/v4/projects/{site.world.project_id}/repository/commits?all=true&{query}")
    assert (response.status_code, response.json()) == (200, [])
