"""A private project in which everything has happened once: pipelines of every colour, requests, schedules, places.

Its jobs are run by the runner of the stack.
"""

from dataclasses import dataclass, field
from typing import Any, Final

from tests.browser.live_stack import LiveStack, Person
from tests.browser.scenery.files_of import files_of

PATH: Final = "acme/shop"
_BROKEN: Final = """\
<testsuites><testsuite name="cart" tests="2" failures="1">
  <testcase classname="tests.test_cart" name="test_total" file="tests/test_cart.py" time="0.1">
    <failure message="assert 41 == 42">tests/test_cart.py:7: AssertionError
expected 42
got 41</failure></testcase>
  <testcase classname="tests.test_cart" name="test_empty" file="tests/test_cart.py" time="0.02"/>
</testsuite></testsuites>
"""
_CHANGED: Final = """\
/** What everything costs, in cents. */
export function total(prices) {
  return Math.round(100 * prices.reduce((sum, price) => sum + price, 0));
}
"""


@dataclass
class Shop:
    """The project and what is in it, by what it shows."""

    id: int
    path: str = PATH
    pipelines: dict[str, int] = field(default_factory=dict)
    """By kind: passed, failed, stuck, canceled, scheduled, request."""
    requests: dict[str, int] = field(default_factory=dict)
    """Numbers within the project of the merge requests that are open, draft, merged and closed."""
    schedule: int = 0


async def make_shop(live: LiveStack, group_id: int, owner: Person, developer: Person) -> Shop:
    """The project with all that happens in it; returns when everything rests."""
    made = await live.project(owner, group_id, "Shop", description="Sells *things*.", visibility="private")
    shop = Shop(made["id"])
    await owner.rest.put(f"/projects/{shop.id}", may_run_as_server=True)
    await _push_main(live, shop, owner)
    await _requests(live, shop, owner, developer)
    await _by_form(live, shop, owner)
    await _people_say(shop, owner)
    await _at_rest(live, shop, owner)
    return shop


async def _push_main(live: LiveStack, shop: Shop, owner: Person) -> None:
    files = files_of("shop")
    first = await live.push(owner, PATH, files, "Sell things\n\nWith a cart that adds up.")
    shop.pipelines["passed"] = (await live.pipeline(owner, shop.id, first))["id"]
    await live.rests(owner, shop.id, shop.pipelines["passed"])
    broken = {"reports/junit.xml": _BROKEN, "reports/unit.txt": "1 failed, 1 passed\nTOTAL 61%\n"}
    second = await live.push(owner, PATH, broken, "Break the sum")
    shop.pipelines["failed"] = (await live.pipeline(owner, shop.id, second))["id"]
    await live.rests(owner, shop.id, shop.pipelines["failed"])


async def _requests(live: LiveStack, shop: Shop, owner: Person, developer: Person) -> None:
    changes = {
        "open": {"shop/cart.js": _CHANGED, "shop/new.js": "export const NEW = 1;\n"},
        "merged": {"README.md": "# Shop\n\nSells things.\n"},
        "draft": {"shop/late.js": "export const LATE = true;\n"},
        "closed": {"shop/never.js": "export const NEVER = true;\n"},
    }
    route = f"/projects/{shop.id}/merge_requests"
    for name, files in changes.items():
        mended = {
            "reports/junit.xml": files_of("shop")["reports/junit.xml"],
            "reports/unit.txt": "3 passed\nTOTAL 90%\n",
        }
        sha = await live.push(
            developer, PATH, {**files, **(mended if name == "open" else {})}, f"Try {name}", branch=name
        )
        title = f"Draft: Try {name}" if name == "draft" else f"Try {name}"
        text = f"What **{name}** changes:\n\n- one thing\n- another\n"
        made = await developer.rest.post(route, title=title, description=text, source_branch=name, target_branch="main")
        shop.requests[name] = made["iid"]
        if name == "open":
            found = await live.pipeline(developer, shop.id, sha, "merge_request_event")
            shop.pipelines["request"] = found["id"]
    await developer.rest.put(f"{route}/{shop.requests['closed']}", state_event="close")
    await live.rests(owner, shop.id, shop.pipelines["request"])
    for pipeline in await owner.rest.get(f"{route}/{shop.requests['merged']}/pipelines"):
        await live.rests(owner, shop.id, pipeline["id"])
    await owner.rest.put(f"{route}/{shop.requests['merged']}/merge")


async def _by_form(live: LiveStack, shop: Shop, owner: Person) -> None:
    route = f"/projects/{shop.id}"
    for name in ("stuck", "canceled"):
        variables = [{"key": "KIND", "value": "stuck"}]
        made = await owner.rest.post(f"{route}/pipeline", ref="main", variables=variables)
        shop.pipelines[name] = made["id"]
    await owner.rest.post(f"{route}/pipelines/{shop.pipelines['canceled']}/cancel")
    wish = {"description": "Every night", "ref": "main", "cron": "7 3 * * *", "cron_timezone": "Europe/Berlin"}
    schedule = await owner.rest.post(f"{route}/pipeline_schedules", **wish)
    shop.schedule = schedule["id"]
    again = f"{route}/pipeline_schedules/{shop.schedule}"
    await owner.rest.post(f"{again}/variables", key="KIND", value="nightly")
    await owner.rest.post(f"{again}/play")
    await owner.rest.post(f"{route}/pipeline_schedules", **{**wish, "description": "At rest", "active": False})


async def _people_say(shop: Shop, owner: Person) -> None:
    route = f"/projects/{shop.id}"
    opened = f"{route}/merge_requests/{shop.requests['open']}"
    await owner.rest.post(f"{opened}/notes", body="Please say *why* in the message.")
    await owner.rest.post(f"{route}/badges", link_url="https://shop.example", image_url="https://shop.example/a.svg")
    await owner.rest.post(f"{route}/repository/tags", tag_name="v1.0", ref="main")
    await owner.rest.post(f"{route}/releases", tag_name="v1.0", name="The first", description="It sells.")


async def _at_rest(live: LiveStack, shop: Shop, owner: Person) -> None:
    await live.rests(owner, shop.id, shop.pipelines["canceled"], "canceled")
    for pipeline in await owner.rest.listed(f"/projects/{shop.id}/pipelines"):
        if pipeline["id"] != shop.pipelines["stuck"]:
            await live.rests(owner, shop.id, pipeline["id"])
        if pipeline["source"] == "schedule":
            shop.pipelines["scheduled"] = pipeline["id"]


async def jobs_of(live: LiveStack, shop: Shop, kind: str) -> dict[str, dict[str, Any]]:
    """The jobs of a pipeline by name."""
    route = f"/projects/{shop.id}/pipelines/{shop.pipelines[kind]}/jobs"
    return {job["name"]: job for job in await live.root.rest.listed(route)}
