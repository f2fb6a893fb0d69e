"""Every page and call that shows people's texts, with the largest that may be stored: none holds up the event loop.

`tests.loop_watch` fails the test in whose part something of ours does; here is what there is to read, and a bound of
what is sent. Marked slow: 200 MiB are written, and read by sixty requests.
"""

import asyncio
from collections.abc import Iterator
from itertools import chain
from typing import Any, Final

import pytest
from sqlalchemy import Executable, insert, select, update

from api.pages.router import router as pages_router
from api.v4.router import router as rest_router
from application.releases.releasing import MAX_DESCRIPTION as MAX_RELEASE
from application.texts.markdown import MAX_HTML, MAX_RENDERED, VERSION
from application.texts.renderings import PATIENCE
from domain.merge_requests.notes import MAX_BODY, MAX_COMMITS, Kind
from models.repositories.artifacts.releases import release
from models.repositories.merge_requests import merge_request_notes
from models.repositories.merge_requests.merge_requests import merge_request
from models.repositories.pipelines.commit_comments import comment
from models.repositories.projects.milestones import milestone
from models.repositories.texts.rendered_texts import NOTES
from tests.api.pages.merge_requests.test_merge_request import Pages
from tests.api.pages.test_pages import browser
from tests.api.v4.site import Site
from tests.application.texts.test_renderings import WIDE

pytestmark = pytest.mark.slow

COSTLY: Final = ("![[" * MAX_RENDERED)[: MAX_RENDERED - 100]
"""0.4 s to render."""
LONG: Final = "\u202e<" * (MAX_BODY // 2)
"""As long as a note may be, and seven times as long when it is shown."""
SYSTEM: Final = "added 100 commits\n\n<ul>" + "<li>" + "c" * 9_000 + "</li>" * MAX_COMMITS + "</ul>"
HTML: Final = "<p>" + "h" * (MAX_HTML - 8) + "</p>\n"
TITLE: Final = "![[" * 85
COUNT: Final = 60
"""Notes of each kind; more than a page has."""
THREADS: Final = {"costly": "a" * 40, "largest": "b" * 40, "rendered": "c" * 40}
MAX_PAGE_BYTES: Final = 6 * 1024**2
MAX_JSON_BYTES: Final = 30 * 1024**2
"""Eight times 2**20 bytes of text, of which JSON makes three times as many where each character is escaped."""

PROJECT: Final = "/{path:project}/-"
PAGES: Final[dict[str, tuple[str, ...]]] = {
    "/releases": ("/releases", "/releases?page=2"),
    "/releases/{tag:path}": ("/releases/v0", "/releases/v30", "/releases/permalink/latest"),
    "/releases/{tag:path}/downloads/{asset:path}": (),
    "/tags": ("/tags",),
    "/tags/{tag:path}": ("/tags/big",),
    "/commits/{ref:path}": ("/commits/large",),
    "/commit/{sha:path}": ("/commit/large",),
    "/compare/{range:path}": ("/compare/main...large",),
    "/merge_requests": ("/merge_requests", "/merge_requests?state=all&page=2"),
    "/merge_requests/events": ("/merge_requests/events?once",),
    "/merge_requests/new": (
        "/merge_requests/new",
        "/merge_requests/new?merge_request[source_branch]=large&merge_request[target_branch]=main",
    ),
    "/merge_requests/{iid}": (
        *("/merge_requests/1", "/merge_requests/1?page=2", "/merge_requests/1?note=1", "/merge_requests/1?note=61"),
        *(f"/merge_requests/1?thread={key}" for key in THREADS.values()),
        *("/merge_requests/2", "/merge_requests/3"),
    ),
    "/merge_requests/{iid}/events": (
        "/merge_requests/1/events?once",
        f"/merge_requests/1/events?once&thread={THREADS['rendered']}",
    ),
    "/merge_requests/{iid}/edit": ("/merge_requests/1/edit", "/merge_requests/2/edit"),
    "/merge_requests/{iid}/commits": ("/merge_requests/1/commits",),
    "/merge_requests/{iid}/pipelines": ("/merge_requests/1/pipelines",),
    "/merge_requests/{iid}/diffs": ("/merge_requests/1/diffs",),
    "/merge_trains": ("/merge_trains",),
    "/merge_trains/events": ("/merge_trains/events?once",),
}
SHOWN_BY: Final = (
    *("api.pages.merge_requests", "api.pages.projects.releases", "api.pages.repositories.commits"),
    *("api.pages.repositories.tags", "api.pages.repositories.comparisons"),
)
REST: Final = tuple(
    f"{path}{'&' if '?' in path else '?'}per_page={size}"
    for size in (100, 4)
    for path in (
        *("merge_requests", "merge_requests/1/notes", "merge_requests/1/discussions", "milestones", "releases"),
        *(f"merge_requests/1/discussions/{key}" for key in THREADS.values()),
        *(f"merge_requests/1/discussions/{key}/notes" for key in THREADS.values()),
        *(f"search?scope={scope}&search=c" for scope in ("notes", "merge_requests", "milestones", "commits")),
        *("events", "repository/commits?ref_name=large", "repository/tags", "repository/branches"),
        *("repository/commits/large/comments", "merge_requests/1/commits", "merge_requests/2"),
        *("repository/compare?from=main&to=large", "repository/contributors", "repository/files/large/blame?ref=large"),
    )
)


def test_every_page_that_shows_texts_is_among_them() -> None:
    there = {
        route.path.removeprefix(PROJECT)
        for route in pages_router
        if "GET" in route.methods and route.endpoint.__module__.startswith(SHOWN_BY)
    }
    assert there == PAGES.keys()
    known = {route.path for route in rest_router if "GET" in route.methods}
    assert "/api/v4/projects/{project}/merge_requests/{iid}/notes" in known


def notes(author: int, now: Any) -> Iterator[dict[str, Any]]:
    """Threads, notes by themselves and notes of the server, of each kind of text."""
    shared = {"merge_request_id": 1, "author_id": author, "internal": False, "created_at": now, "updated_at": now}
    texts = {"costly": COSTLY, "largest": LONG, "rendered": "r"}
    for name, text in (*texts.items(), ("wide", WIDE), ("server", SYSTEM), ("line", f"changed title to **{TITLE}**")):
        for _ in range(COUNT if name != "largest" else COUNT // 2):
            yield {
                **shared,
                "discussion": THREADS.get(name) or merge_request_notes.new_discussion(),
                "body": text,
                "kind": Kind.THREAD if name in THREADS else Kind.INDIVIDUAL,
                "system": name in {"server", "line"},
                "resolvable": name in THREADS,
            }


async def write(site: Site, statement: Executable) -> None:
    """One after the other: what many megabytes cost at once is no page's fault."""
    async with site.services.database.write() as connection:
        await connection.execute(statement)


async def fill(pages: Pages) -> None:
    """Write all of it, past the doors: they take no longer texts, but not so many at once."""
    site, now = pages.site, pages.site.services.clock()
    note, base = merge_request_notes.note, {"project_id": pages.merging.id, "created_at": now}
    for one in notes(site.root.id, now):
        await write(site, insert(note).values(**one))
    async with site.services.database.read() as connection:
        ids = (await connection.execute(select(note.c.id).where(note.c.body == "r"))).scalars().all()
    for key in ids:
        made = {"owner_id": key, "version": VERSION, "length": 1, "size": len(HTML), "html": HTML}
        await write(site, insert(NOTES.made).values(made))
    for iid, text in ((1, COSTLY), (2, LONG), (3, WIDE)):
        changed = update(merge_request).where(merge_request.c.iid == iid)
        await write(site, changed.values(description=text, title=TITLE))
    async with site.services.database.read() as connection:
        first = (await connection.execute(select(merge_request).where(merge_request.c.iid == 2))).mappings().one()
    for iid in range(4, 34):
        more = {**first, "iid": iid, "source_branch": f"b{iid}"}
        await write(site, insert(merge_request).values({key: more[key] for key in more if key != "id"}))
    for number in range(40):
        text = (COSTLY, WIDE, "\u202e" * MAX_RELEASE)[number % 3]
        mine = {"user_id": site.root.id, "tag": f"v{number}", "name": TITLE, "sha": "5" * 40, "released_at": now}
        values = {**base, **mine, "description": text, "milestones": [], "assets": {"links": []}}
        await write(site, insert(release).values(**values))
    sha = await site.services.repositories.get(pages.merging.id).resolve("large")
    for number in range(30):
        said = {"sha": sha, "author_id": site.root.id, "note": "n" * MAX_BODY}
        await write(site, insert(comment).values(**base, **said))
        planned = {"iid": number + 1, "title": f"c{number}", "description": "\u202e" * MAX_BODY}
        await write(site, insert(milestone).values(**base, **planned, updated_at=now, state="active"))


async def commit_largest(pages: Pages, count: int = 45) -> None:
    """A branch whose commits say a megabyte each, and tags that do."""
    path = pages.site.services.repositories.path(pages.merging.id)
    who = "Ada <ada@example.com> 0 +0000"
    message = ("\u202e" * 300 + "\n\n" + "\u202e<" * 250_000).encode()
    said = b"data %d\n%s\n" % (len(message), message)
    head = f"commit refs/heads/large\ncommitter {who}\n".encode() + said
    parts = [head + b"from refs/heads/main\nM 100644 inline large\ndata 2\nx\n\n"]
    parts += [head + b"M 100644 inline large\ndata %d\n%d\n\n" % (len(str(n)), n) for n in range(count)]
    parts += [f"tag big\nfrom refs/heads/large\ntagger {who}\n".encode() + said]
    words = ("git", f"--git-dir={path}", "fast-import", "--quiet", "--done")
    process = await asyncio.create_subprocess_exec(*words, stdin=asyncio.subprocess.PIPE)
    await process.communicate(b"".join(parts) + b"done\n")
    assert process.returncode == 0


async def test_no_text_holds_up_the_loop(site: Site) -> None:
    pages = Pages(site)
    site.services.renderings.patience = PATIENCE
    await pages.merging.begin()
    for name in ("one", "two", "three"):
        await pages.merging.feature(name)
    await commit_largest(pages)
    await fill(pages)
    base = f"/{await site.path()}/-"
    async with browser(site, site.root) as client:
        for address in chain.from_iterable(PAGES.values()):
            response = await client.get(f"{base}{address}", follow_redirects=True)
            assert response.status_code == 200, (address, response.text[:300])
            assert len(response.content) < MAX_PAGE_BYTES, (address, len(response.content))
    async with site.client(site.root, timeout=60) as client:
        for path in REST:
            response = await client.get(f"/api/v4/projects/{pages.merging.id}/{path}")
            assert response.status_code in {200, 413}, (path, response.text[:300])
            assert response.status_code == 200 or "at once" in response.text, path
            assert len(response.content) < MAX_JSON_BYTES, (path, len(response.content))
