"""The whole scenery of one session: people, a group, and projects of every kind."""

import asyncio
from dataclasses import dataclass

from tests.browser.live_stack import LiveStack, Person
from tests.browser.scenery.bulk import Bulk, make_bulk
from tests.browser.scenery.shop import Shop, jobs_of, make_shop

_JOBS = (
    ("passed", "compile"),
    ("passed", "production"),
    ("passed", "tomorrow"),
    ("failed", "unit: [3.12]"),
    ("failed", "staging"),
    ("stuck", "nobody takes it"),
    ("stuck", "waits for it"),
)
_OPEN = """\
greet: {script: ["echo hello"], coverage: '/(\\d+)%/'}
"""


@dataclass
class World:
    """Who and what there is."""

    live: LiveStack
    developer: Person
    stranger: Person
    shop: Shop
    bulk: Bulk
    empty_path: str = "acme/empty"
    public_path: str = "acme/open"

    @property
    def starts(self) -> tuple[str, ...]:
        """Addresses at which to begin that no page has to link to: what anybody may know."""
        return ("/groups/acme", f"/{self.public_path}")

    async def striking(self) -> list[str]:
        """Pages of kinds that others have, too, and which look different."""
        shop = f"/{self.shop.path}/-"
        found = [f"{shop}/pipelines/{number}" for number in self.shop.pipelines.values()]
        found += [f"{shop}/merge_requests/{number}" for number in self.shop.requests.values()]
        for kind, name in _JOBS:
            found.append(f"{shop}/jobs/{(await jobs_of(self.live, self.shop, kind))[name]['id']}")
        bulk = "/acme/bulk/-"
        return [*found, f"{bulk}/pipelines/{self.bulk.pipeline}", f"{bulk}/jobs/{self.bulk.long_job}", "/acme/empty"]

    async def portraits(self) -> list[str]:
        """The pages that people use most."""
        return list((await self.named_portraits()).values())

    async def named_portraits(self) -> dict[str, str]:
        """The twelve pages of the README, by what they are called there."""
        shop = f"/{self.shop.path}/-"
        failed = (await jobs_of(self.live, self.shop, "failed"))["unit: [3.12]"]["id"]
        return {
            "projects": "/",
            "pipelines": f"{shop}/pipelines",
            "pipeline": f"{shop}/pipelines/{self.shop.pipelines['passed']}",
            "thousand-jobs": f"/acme/bulk/-/pipelines/{self.bulk.pipeline}",
            "job": f"{shop}/jobs/{failed}",
            "tests": f"{shop}/pipelines/{self.shop.pipelines['failed']}/test_report",
            "figures": f"{shop}/pipelines/charts",
            "run": f"{shop}/pipelines/new",
            "merge-request": f"{shop}/merge_requests/{self.shop.requests['open']}",
            "environments": f"{shop}/environments",
            "schedules": f"{shop}/pipeline_schedules",
            "components": "/-/components",
        }

    @property
    def url(self) -> str:
        """Where the pages are."""
        return self.live.url


async def make_world(live: LiveStack) -> World:
    """Everything, made at the same time where one does not wait for the other."""
    root = live.root
    ada, eve = await live.person("ada", "Ada Lovelace"), await live.person("eve", "Eve Stranger")
    group = await root.rest.post("/groups", name="Acme", path="acme", visibility="public")
    await root.rest.post(f"/groups/{group['id']}/members", user_id=ada.id, access_level=30)
    shop, bulk, _ = await asyncio.gather(
        make_shop(live, group["id"], root, ada), make_bulk(live, group["id"], root), _others(live, group["id"], root)
    )
    return World(live, ada, eve, shop, bulk)


async def _others(live: LiveStack, group_id: int, root: Person) -> None:
    await live.project(root, group_id, "Empty", visibility="private")
    inner = await root.rest.post("/groups", name="Inner", path="inner", parent_id=group_id, visibility="public")
    await live.project(root, inner["id"], "Deep", visibility="public")
    made = await live.project(root, group_id, "Open", visibility="public")
    await root.rest.put(f"/projects/{made['id']}", may_run_as_server=True)
    sha = await live.push(root, "acme/open", {".gitlab-ci.yml": _OPEN, "README.md": "# Open\n"}, "Say hello")
    pipeline = await live.pipeline(root, made["id"], sha)
    await live.rests(root, made["id"], pipeline["id"])
