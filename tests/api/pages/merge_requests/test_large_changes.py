"""Changes of 10,000 files and 100,000 lines: each page of them is small.

Marked slow: git looks at all of them for each page.
"""

import asyncio
import gzip
import time

import pytest

from tests.api.pages.merge_requests.test_merge_request import Pages
from tests.api.pages.test_pages import browser
from tests.api.v4.site import Site

pytestmark = pytest.mark.slow

FILES = 10_000
LINES = 10
COMPRESSED = 150 * 1024
"""Bytes of a page as it is sent, at most."""


async def commit_many(site: Site, branch: str, contents: dict[str, bytes]) -> None:
    """A branch upon `main` with these files besides."""
    path = site.services.repositories.path(site.world.project_id)
    head = f"commit refs/heads/{branch}\ncommitter Ada <ada@example.com> 0 +0000\ndata 4\nMany\nfrom refs/heads/main\n"
    stream = head.encode() + b"".join(
        f"M 100644 inline {name}\ndata {len(text)}\n".encode() + text + b"\n" for name, text in contents.items()
    )
    words = ("git", f"--git-dir={path}", "fast-import", "--quiet", "--done")
    process = await asyncio.create_subprocess_exec(*words, stdin=asyncio.subprocess.PIPE)
    await process.communicate(stream + b"done\n")
    assert process.returncode == 0


async def test_ten_thousand_files_come_in_small_pages(site: Site) -> None:
    pages = Pages(site)
    await pages.merging.begin()
    text = "".join(f"line {number} of a file\n" for number in range(LINES)).encode()
    contents = {f"file-{number:05}.txt": b"%d\n" % number + text for number in range(FILES)}
    contents["long.txt"] = b"".join(b"line %d\n" % number for number in range(100_000))
    contents["wide.txt"] = b"x" * 150_000 + b"\n"
    await commit_many(site, "many", contents)
    made = await pages.merging.open("many")
    base = f"/{await site.path()}/-/merge_requests/{made['iid']}/diffs"
    async with browser(site, site.root) as client:
        for query in ("", "?page=251", "?page=501", "?page=1000000", "?file=long.txt", "?file=wide.txt"):
            begin = time.monotonic()
            response = await client.get(f"{base}{query}")
            took = time.monotonic() - begin
            size = len(gzip.compress(response.content, 6))
            assert response.status_code == 200
            assert size < COMPRESSED, query
            assert response.text.count("<tr ") < 4_000
            assert took < 20
        first = (await client.get(base)).text
        long = (await client.get(f"{base}?file=long.txt")).text
    assert f"{FILES + 2:,} files</strong> changed" in first
    assert "+210,0" in first
    assert "Page 1 of 501" in first
    assert "Its patch is too large to be shown" in long
