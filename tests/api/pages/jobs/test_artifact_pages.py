"""Artifacts in a browser: folders, files, reports in an origin of their own, and hostile archives."""

import io
import re
import warnings
import zipfile
from collections.abc import Callable
from datetime import timedelta
from urllib.parse import quote

import httpx
import pytest

from auth.archive_ticket import LIFETIME, ArchiveTicket, issue_archive_ticket
from models.repositories.accounts import members, sessions
from models.repositories.artifacts.artifacts import artifact
from tests.api.pages.test_pages import browser
from tests.api.v4.jobs.test_artifacts import archive, expire
from tests.api.v4.site import Site

FILES = {
    "report/index.html": "<link rel=stylesheet href='css/a.css'><script src=js/a.js></script>",
    "report/css/a.css": "p {}",
    "report/js/a.js": "x",
    "out/picture.svg": "<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>",
    "out/log.txt": "one\n<b>two</b>\n\u202ethree\n",
    "a b#c?.txt": "spaced",
}
EVIL = "<script>alert('x')</script>"


async def with_archive(site: Site, content: bytes, config: str = "build: {script: x}\n") -> str:
    """The address of the artifacts of a job that has handed in this archive."""
    pipeline = await site.world.pipeline(config)
    job = await site.world.job()
    assert (await site.world.upload(job, content)).status_code == 201
    await site.world.put(job, "success", b"")
    await site.world.settle(pipeline)
    return f"/{await site.path()}/-/jobs/{job['id']}/artifacts"


async def get(site: Site, address: str, **headers: str) -> httpx.Response:
    """What root's browser gets."""
    async with browser(site, site.root, **headers) as client:
        return await client.get(address)


async def test_folders_lead_to_files_and_files_are_shown_as_text(site: Site) -> None:
    base = await with_archive(site, archive(FILES))
    top, out, text = [await get(site, base + path) for path in ("/browse", "/browse/out", "/file/out/log.txt")]
    assert [response.status_code for response in (top, out, text)] == [200, 200, 200]
    assert f'href="{base}/browse/report"' in top.text
    assert re.search(r"76 B <span[^>]*>in 3 files", top.text) or "in 3 files" in top.text
    assert f'href="{base}/file/a%20b%23c%3F.txt"' in top.text
    assert top.text.index("report") < top.text.index("a b#c?"), "folders come first"
    assert f'href="{base}/file/out/log.txt"' in out.text
    assert "&lt;b&gt;two&lt;/b&gt;" in text.text
    assert "[U+202E]three" in text.text, "a sign that turns text around is written out"
    assert 'id="L3"' in text.text
    assert "spaced" in (await get(site, f"{base}/file/a%20b%23c%3F.txt")).text


async def test_a_large_folder_comes_in_pages(site: Site) -> None:
    base = await with_archive(site, archive({f"{number:04}.txt": "" for number in range(250)}))
    first, last = await get(site, f"{base}/browse"), await get(site, f"{base}/browse?page=3")
    assert ("0099.txt" in first.text, "0100.txt" in first.text, "Page 1 of 3, 250 entries" in first.text) == (
        True,
        False,
        True,
    )
    assert ("0199.txt" in last.text, "0249.txt" in last.text) == (False, True)


@pytest.mark.parametrize(
    "path", ["/browse/none", "/file/none", "/file/out", "/raw/none", "/file/..%2Fout", "/raw/out/../x"]
)
async def test_what_the_archive_does_not_have_is_not_found(site: Site, path: str) -> None:
    base = await with_archive(site, archive(FILES))
    assert (await get(site, base + path)).status_code == 404


async def test_bytes_come_under_a_policy_that_lets_them_do_nothing(site: Site) -> None:
    base = await with_archive(site, archive({**FILES, "a.bin": "\0\1", "b.js": "alert(1)", "c.xml": "<x/>"}))
    kinds = {
        "out/picture.svg": "image/svg+xml",
        "out/log.txt": "text/plain; charset=utf-8",
        "b.js": "text/plain; charset=utf-8",
        "c.xml": "text/plain; charset=utf-8",
        "a.bin": "application/octet-stream",
    }
    for name, kind in kinds.items():
        response = await get(site, f"{base}/raw/{name}")
        assert (response.status_code, response.headers["content-type"]) == (200, kind)
        assert response.headers["x-content-type-options"] == "nosniff"
        policy = response.headers["content-security-policy"]
        assert "sandbox" in policy
        assert "allow-" not in policy
        assert response.headers.get("content-disposition", "").startswith("attachment") == (name == "a.bin")
    shown = (await get(site, f"{base}/file/out/picture.svg")).text
    assert f'<img class="picture" src="{base}/raw/out/picture.svg"' in shown
    assert "This file is no text" in (await get(site, f"{base}/file/a.bin")).text


async def report_of(site: Site, base: str) -> str:
    """The address of a report's page, as its own page is opened."""
    opened = await get(site, f"{base}/raw/report/index.html")
    assert opened.status_code == 303
    return opened.headers["location"]


async def test_a_report_runs_in_an_origin_of_nobody_and_its_files_need_no_cookie(site: Site) -> None:
    base = await with_archive(site, archive(FILES))
    page = await get(site, f"{base}/file/report/index.html")
    (framed,) = re.findall(r'<iframe class="report"[^>]* src="([^"]+)"', page.text)
    assert 'sandbox="allow-scripts"' in page.text
    assert (
        f"frame-src {site.services.settings.url}{framed.removesuffix('report/index.html')}"
        in page.headers["content-security-policy"]
    )
    async with site.client() as nobody:
        html = await nobody.get(framed)
        css = await nobody.get(framed.replace("index.html", "css/a.css"))
        folder = await nobody.get(framed.replace("index.html", ""))
        missing = await nobody.get(framed.replace("index.html", "none.js"))
    policy = html.headers["content-security-policy"]
    assert policy.startswith("sandbox allow-scripts; default-src http")
    assert "allow-same-origin" not in policy
    assert "'self'" not in policy, "our own addresses are none that a report may fetch"
    assert html.headers["referrer-policy"] == "no-referrer"
    assert "set-cookie" not in html.headers
    assert (css.status_code, css.headers["content-type"]) == (200, "text/css; charset=utf-8")
    assert "allow-scripts" not in css.headers["content-security-policy"]
    assert folder.text == html.text == FILES["report/index.html"]
    assert (missing.status_code, missing.headers["content-type"]) == (404, "text/plain; charset=utf-8")


async def test_a_ticket_opens_one_archive_for_half_an_hour_as_far_as_its_owner_may_read(site: Site) -> None:
    base = await with_archive(site, archive(FILES))
    other = await with_archive(site, archive(FILES))
    reader = await site.person("reader", 20)
    async with browser(site, reader) as client:
        address = (await client.get(f"{base}/raw/report/index.html")).headers["location"]
    job_id = int(base.split("/")[-2])
    async with site.services.database.read() as connection:
        key = (await connection.execute(artifact.select().where(artifact.c.job_id == job_id))).one().id
    ring, now = site.services.key, site.services.clock()
    past = issue_archive_ticket(ring, ArchiveTicket(reader.id, job_id, key), now - LIFETIME - timedelta(minutes=1))
    wrong_row = issue_archive_ticket(ring, ArchiveTicket(reader.id, job_id, key + 1), now)
    nobody = issue_archive_ticket(ring, ArchiveTicket(0, job_id, key), now)
    ticket = address.split("/report/")[1].split("/")[0]
    async with site.client() as client:

        async def status(one: str, where: str = base) -> int:
            return (await client.get(f"{where}/report/{one}/report/index.html")).status_code

        assert await status(ticket) == 200
        assert [await status(one) for one in (past, wrong_row, nobody, ticket[:-2], "x", "x" * 3000)] == [404] * 6
        assert await status(ticket, other) == 404, "a ticket is for one archive"
        assert (await client.get(f"{base}/raw/report/index.html")).status_code in {303, 401, 404}
        said = await client.get(f"{base}/report/{past}/report/index.html")
        assert "Reload the page" in said.text
        async with site.services.database.write() as connection:
            await members.remove_from_project(connection, site.world.project_id, reader.id)
        assert await status(ticket) == 404, "whoever may not read any more sees nothing more"


async def test_blocked_people_and_deleted_archives_end_a_report(site: Site) -> None:
    await site.set_project(keep_latest_artifacts=False)
    base = await with_archive(site, archive(FILES))
    reader = await site.person("reader", 20)
    async with browser(site, reader) as client:
        of_reader = (await client.get(f"{base}/raw/report/index.html")).headers["location"]
    of_root = await report_of(site, base)
    await site.block(reader)
    async with site.client() as client:
        assert [(await client.get(address)).status_code for address in (of_reader, of_root)] == [404, 200]
        await expire(site)
        gone = await client.get(of_root)
    assert gone.status_code == 404
    assert "have expired or were deleted" in gone.text
    assert "have expired or were deleted" in (await get(site, f"{base}/browse")).text


@pytest.mark.parametrize("by", ["session", "password", "token"])
async def test_a_report_ends_with_what_opened_it(site: Site, by: str) -> None:
    """Who signs out, ends all sessions or revokes the token leaves no address behind that still opens the files."""
    base = await with_archive(site, archive(FILES))
    reader, other = await site.person("reader", 20), await report_of(site, base)
    async with browser(site, None if by == "token" else reader) as client:
        shown = {"PRIVATE-TOKEN": reader.token} if by == "token" else {}
        opened = (await client.get(f"{base}/raw/report/index.html", headers=shown)).headers["location"]
        async with site.client() as frame:
            assert (await frame.get(opened)).status_code == 200
            if by == "session":
                out = await client.post("/users/sign_out", headers={"origin": site.services.settings.url})
                assert out.status_code == 303
            elif by == "password":
                async with site.services.database.write() as connection:
                    await sessions.end_all(connection, reader.id)
            else:
                ended = await client.delete("/api/v4/personal_access_tokens/self", headers=shown)
                assert ended.status_code == 204, ended.text
            over = await frame.get(opened)
            assert (await frame.get(other)).status_code == 200, "that of somebody else goes on"
    assert (over.status_code, "This view has ended" in over.text) == (404, True)


def hostile(*entries: tuple[str, str], mode: int = 0, count: int = 0) -> bytes:
    """An archive with these entries, written as they are."""
    packed = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as target:
        warnings.simplefilter("ignore")  # of names that come twice
        for name, text in entries:
            info = zipfile.ZipInfo(name)
            info.external_attr = mode << 16
            info.create_system = 3
            info.compress_type = zipfile.ZIP_DEFLATED
            target.writestr(info, text)
        for number in range(count):
            target.writestr(f"{number}", "")
    return packed.getvalue()


def encrypted(content: bytes) -> bytes:
    """The same archive, whose list says that its first entry is encrypted."""
    flags = content.index(b"PK\x01\x02") + 8
    return content[:flags] + b"\x01" + content[flags + 1 :]


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (lambda: hostile(("../../etc/passwd", "x")), "an entry named"),
        (lambda: hostile(("a", "1"), ("a", "2")), "two entries of one name"),
        (lambda: hostile(("bomb", "0" * 3_000_000)), "more than 100 times its own size"),
        (lambda: hostile(("a\u202etxt.exe", "x")), "an entry named"),
        (lambda: hostile(count=100_000), "more than 10000 entries"),
        (lambda: b"no zip at all", "no zip archive"),
    ],
    ids=["dots", "twice", "bomb", "bidi", "many", "none"],
)
async def test_hostile_archives_are_told_of_and_never_unpacked(
    site: Site, made: Callable[[], bytes], said: str
) -> None:
    content = made()
    base = await with_archive(site, content)
    shown = [await get(site, f"{base}/{rest}") for rest in ("browse", "file/a")]
    for response in shown:
        assert response.status_code == 422
        assert said in response.text
        assert f'href="{base}/download"' in response.text
    raw = await get(site, f"{base}/raw/a")
    assert raw.status_code in {400, 413, 422}
    assert (await get(site, f"{base}/download")).content == content


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (lambda: hostile(("out/link.html", "/etc/passwd"), mode=0o120777), "a symbolic link"),
        (lambda: encrypted(hostile(("out/link.html", "1"))), "encrypted"),
    ],
    ids=["link", "encrypted"],
)
async def test_only_what_cannot_be_given_is_refused(site: Site, made: Callable[[], bytes], said: str) -> None:
    buffer = io.BytesIO(made())
    with zipfile.ZipFile(buffer, "a") as target:
        target.writestr("out/index.html", "the report")
    base = await with_archive(site, buffer.getvalue())
    folder = await get(site, f"{base}/browse/out")
    assert folder.status_code == 200
    assert 'file/out/index.html"' in folder.text
    assert said in folder.text
    assert 'href="' + f"{base}/file/out/link.html" not in folder.text
    assert (await get(site, f"{base}/file/out/index.html")).status_code == 200
    report = await get(site, f"{base}/raw/out/index.html")
    assert (report.status_code, (await get(site, report.headers["location"])).text) == (303, "the report")
    refused = [await get(site, f"{base}/{way}/out/link.html") for way in ("file", "raw")]
    assert [response.status_code for response in refused] == [422, 400]
    assert all(said in response.text for response in refused)
    assert "The rest of the archive" in refused[0].text


async def test_names_of_any_length_and_kind_are_text(site: Site) -> None:
    long = "n" * 10_000
    turned = f"{EVIL}\u200f.txt"
    base = await with_archive(site, archive({long: "1", turned.replace("/", "_"): "2", "%2e%2e": "3"}))
    page = await get(site, f"{base}/browse")
    assert page.status_code == 200
    assert len(page.content) < 30_000
    assert "a name of 10000 characters fits no address" in page.text
    assert "<script>alert" not in page.text
    assert (await get(site, f"{base}/file/{quote('%2e%2e')}")).status_code == 200


async def test_who_may_not_read_artifacts_sees_no_page_of_them(site: Site) -> None:
    config = "build: {script: x, artifacts: {paths: [out], access: maintainer}}\n"
    base = await with_archive(site, archive(FILES), config)
    developer, stranger = await site.person("developer", 30), await site.person("stranger")
    views = ("browse", "file/out/log.txt", "raw/out/log.txt", "download")
    for person, status in ((developer, 403), (stranger, 404), (None, 404)):
        async with browser(site, person) as client:
            assert [(await client.get(f"{base}/{view}")).status_code for view in views] == [status] * 4


async def test_addresses_of_a_ref_lead_to_its_latest_job(site: Site) -> None:
    base = await with_archive(site, archive(FILES))
    project = f"/{await site.path()}/-/jobs/artifacts"
    for view in ("browse", "download", "file/out/log.txt", "raw/a%20b%23c%3F.txt"):
        response = await get(site, f"{project}/main/{view}?job=build")
        assert (response.status_code, response.headers["location"]) == (302, f"{base}/{view}")
    for wrong in (
        "main/browse?job=none",
        "other/browse?job=build",
        "main?job=build",
        "browse?job=build",
        "main/browse",
    ):
        assert (await get(site, f"{project}/{wrong}")).status_code in {404, 422}


async def test_a_report_of_a_session_that_a_token_began_ends_with_the_session(site: Site) -> None:
    base = await with_archive(site, archive(FILES))
    reader, origin = await site.person("reader", 20), {"origin": site.services.settings.url}
    async with site.client(headers=origin) as client, site.client() as frame:
        await client.post("/users/sign_in", data={"username": "reader", "password": reader.token})
        opened = (await client.get(f"{base}/raw/report/index.html")).headers["location"]
        assert (await frame.get(opened)).status_code == 200
        assert (await client.post("/users/sign_out")).status_code == 303
        assert (await frame.get(opened)).status_code == 404
