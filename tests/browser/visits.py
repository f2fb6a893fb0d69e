"""Pages in a browser that writes down whatever is wrong with them: a visit is one page from its address to its rest."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final, Literal
from urllib.parse import urlsplit

from axe_playwright_python.async_playwright import Axe
from playwright.async_api import Browser, BrowserContext, ConsoleMessage, Dialog, Page, Request, Response

from tests.browser.chromium import PATIENCE, signed_in_at
from tests.browser.live_stack import LiveStack, Person
from tests.browser.probes import probe
from tests.waiting import HANGS

Theme = Literal["light", "dark"]

WIDE: Final = (1280, 900)
PHONE: Final = (390, 844)
SMALL: Final = (320, 640)
ZONE: Final = "Asia/Kathmandu"
"""Of every reader: it is 5:45 h ahead of UTC, so that no date is right by chance."""
SERIOUS: Final = frozenset({"serious", "critical"})
_WATCH: Final = """
if (window === top) addEventListener('securitypolicyviolation', (event) => window.reportToTest(
  `${event.violatedDirective}: ${event.blockedURI} ${event.sourceFile}:${event.lineNumber} ${event.sample}`));
"""
_PAINT: Final = probe("paint")
_BY_SCRIPTS: Final = ("Fetch", "XHR", "EventSource")
"""What a page asks for when it is there: pieces of logs, for one."""
_SETTLED: Final = "() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))"


@dataclass
class Faults:
    """What a page must not do, in words."""

    console: list[str] = field(default_factory=list)
    policy: list[str] = field(default_factory=list)
    foreign: list[str] = field(default_factory=list)
    """Requests to another host."""
    failed: list[str] = field(default_factory=list)
    """Requests that had no response, or one that says that something is wrong."""
    dialogs: list[str] = field(default_factory=list)

    def all(self) -> list[str]:
        """Every fault with its kind."""
        return [f"{kind}: {text}" for kind, texts in vars(self).items() for text in texts]

    def clear(self) -> None:
        """Begin anew."""
        for texts in vars(self).values():
            texts.clear()


@dataclass(frozen=True)
class Figures:
    """Of one visit with an empty cache: bytes as they were transferred, milliseconds to the first paint of content."""

    bytes: int
    paint: float
    requests: int


class Visitor:
    """A tab of one person, who looks at pages one after the other."""

    def __init__(self, page: Page, url: str, faults: Faults) -> None:
        """`url` is where the installation is; `faults` grows while pages are looked at."""
        self.page = page
        self.url = url
        self.faults = faults
        self._sizes: dict[str, int] = {}
        self._kinds: dict[str, str] = {}

    async def watch_sizes(self) -> None:
        """Count what is transferred; nothing comes from a cache any more."""
        session = await self.page.context.new_cdp_session(self.page)
        await session.send("Network.enable")
        await session.send("Network.setCacheDisabled", {"cacheDisabled": True})
        session.on("Network.responseReceived", self._began)
        session.on("Network.loadingFinished", self._ended)

    def _began(self, event: Mapping[str, Any]) -> None:
        self._kinds[event["requestId"]] = event["type"]

    def _ended(self, event: Mapping[str, Any]) -> None:
        self._sizes[event["requestId"]] = int(event["encodedDataLength"])

    async def visit(self, path: str) -> Figures:
        """Open a page and wait until it is painted and its scripts have had their turn."""
        self._sizes.clear()
        self._kinds.clear()
        response = await self.page.goto(path if path.startswith("http") else f"{self.url}{path}", wait_until="load")
        assert response is not None
        try:
            async with asyncio.timeout(HANGS):
                paint = await self.page.evaluate(_PAINT)
        except TimeoutError as error:
            raise AssertionError(f"{path} is not painted within {HANGS:g} s") from error
        await self.settled()
        sizes = [
            size for name, size in self._sizes.items() if self._kinds.get(name) not in ("Fetch", "XHR", "EventSource")
        ]
        return Figures(sum(sizes), round(paint, 1), len(sizes))

    async def settled(self) -> None:
        """Return when two frames have been drawn."""
        await self.page.evaluate(_SETTLED)

    async def serious(self, **options: Any) -> list[str]:
        """What axe finds that keeps people from the page, as `rule: how it is said (where)`."""
        given = {"resultTypes": ["violations"], **options}
        found = (await Axe().run(self.page, options=given)).response["violations"]
        return [
            f"{rule['id']} ({rule['impact']}): {rule['help']}: {place['target']} {place['html'][:160]} {_why(place)}"
            for rule in found
            if rule["impact"] in SERIOUS
            for place in rule["nodes"][:3]
        ]

    async def without_repetitions(self) -> None:
        """Take out rows that look like many others: axe takes a minute for ten thousand, and learns nothing."""
        await self.page.evaluate(_REPEATED, _MAX_ALIKE)

    async def overflow(self) -> list[str]:
        """How far the page is wider than its window, and what sticks out; empty if it is not."""
        found: list[str] = await self.page.evaluate(_OVERFLOW)
        return found


_OVERFLOW: Final = probe("overflow")
_REPEATED: Final = probe("repeated")
_MAX_ALIKE: Final = 20
"""So many rows of one look stay."""


def _why(place: Mapping[str, Any]) -> str:
    said = [check["message"] for kind in ("any", "all", "none") for check in place[kind]]
    return "; ".join(said)[:200]


@asynccontextmanager
async def visitor(
    browser: Browser,
    live: LiveStack,
    person: Person | None = None,
    *,
    size: tuple[int, int] = WIDE,
    theme: Theme = "light",
    sizes: bool = False,
    **options: Any,
) -> AsyncIterator[Visitor]:
    """A tab in a browser that nobody has used, of a person who is signed in; `options` are those of a context."""
    context = await browser.new_context(
        viewport={"width": size[0], "height": size[1]}, color_scheme=theme, timezone_id=ZONE, locale="en-GB", **options
    )
    try:
        if person is not None:
            await context.add_cookies(await session_of(browser, live, person))
        yield await open_tab(context, live, sizes=sizes)
    finally:
        await context.close()


async def open_tab(context: BrowserContext, live: LiveStack, *, sizes: bool = False) -> Visitor:
    """A further tab of somebody."""
    context.set_default_timeout(PATIENCE)
    page = await context.new_page()
    faults = Faults()
    found = Visitor(page, live.url, faults)
    host = urlsplit(live.url).netloc

    def requested(request: Request) -> None:
        where = urlsplit(request.url)
        if where.scheme not in ("data", "blob", "about") and where.netloc != host:
            faults.foreign.append(request.url[:200])

    def answered(response: Response) -> None:
        if response.status >= 400:
            faults.failed.append(f"{response.status} {response.request.method} {response.url[:200]}")

    def said(message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            faults.console.append(f"{message.type}: {message.text[:300]}")

    await page.expose_function("reportToTest", lambda text: faults.policy.append(str(text)))
    await page.add_init_script(_WATCH)

    async def asked(dialog: Dialog) -> None:
        faults.dialogs.append(dialog.message[:100])
        await dialog.dismiss()

    page.on("dialog", asked)
    page.on("request", requested)
    page.on("response", answered)
    page.on("console", said)
    page.on("pageerror", lambda error: faults.console.append(f"thrown: {error}"))
    if sizes:
        await found.watch_sizes()
    return found


async def session_of(browser: Browser, live: LiveStack, person: Person) -> list[Any]:
    """The cookies of somebody who signs in by the form, once for all their tabs."""
    if person.username not in live.sessions:
        context = await browser.new_context()
        try:
            await signed_in_at(context, live.url, person.username, person.password)
            live.sessions[person.username] = list(await context.cookies())
        finally:
            await context.close()
    return live.sessions[person.username]
