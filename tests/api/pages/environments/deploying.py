"""A project that deploys to `review/main` and `production`, with the pages of its environments."""

from dataclasses import dataclass
from typing import Any, Final

import httpx

from tests import forms
from tests.api.pages.test_pages import browser
from tests.api.v4.site import Person, Site
from tests.git.serving import git, new_commit

CONFIG: Final = """
stages: [deploy, live]
review:
  stage: deploy
  script: x
  environment: {name: review/$CI_COMMIT_REF_NAME, url: "https://$CI_COMMIT_REF_NAME.example.com/", on_stop: stop, auto_stop_in: 2 days}
stop:
  stage: live
  script: x
  when: manual
  environment: {name: review/$CI_COMMIT_REF_NAME, action: stop}
live:
  stage: live
  script: x
  when: manual
  manual_confirmation: Really ship it?
  environment: {name: production}
"""  # noqa: E501  # a line of a configuration


@dataclass
class Deploying:
    """`site` with that project; a command is answered as the workflow would."""

    site: Site

    async def begin(self) -> None:
        """Have the configuration in the project."""
        self.site.connect_temporal()
        await self.site.commit({".gitlab-ci.yml": CONFIG})

    async def pipeline(self, *, deploy: str = "success") -> int:
        """Run a pipeline of `main` up to where it waits for people; `deploy` is how its first job ends."""
        made = await self.call("POST", "/pipeline", ref="main")
        await self.site.world.settle(made["id"])
        await self.finish(made["id"], deploy)
        return int(made["id"])

    async def finish(self, pipeline_id: int, status: str = "success") -> int:
        """A runner takes the next job, which is of this pipeline, and ends it."""
        await self.site.world.settle(pipeline_id)
        job = await self.site.world.job()
        assert (await self.site.world.put(job, status)).status_code == 200
        await self.site.world.settle(pipeline_id)
        return int(job["id"])

    async def commit(self) -> str:
        """One commit more."""
        tree = self.site.folder / "tree"
        sha = await new_commit(tree, {"more.txt": "more\n"})
        await git("push", "-q", self.site.services.repositories.path(self.site.world.project_id), "main", cwd=tree)
        return sha

    async def call(self, method: str, rest: str, person: Person | None = None, **body: Any) -> Any:
        """Call the REST API as root, unless somebody else is named."""
        async with self.site.client(person or self.site.root) as client:
            address = f"/api/v4/projects/{self.site.world.project_id}{rest}"
            response = await client.request(method, address, json=body or None)
            assert response.is_success, response.text
            return response.json() if response.content else None

    async def environments(self) -> dict[str, dict[str, Any]]:
        """The environments by name."""
        return {one["name"]: one for one in await self.call("GET", "/environments")}

    async def deployments(self) -> list[dict[str, Any]]:
        """All deployments, the oldest first."""
        found: list[dict[str, Any]] = await self.call("GET", "/deployments")
        return found

    async def see(self, rest: str = "", person: Person | None = None) -> httpx.Response:
        """A page of environments."""
        async with browser(self.site, person or self.site.root) as client:
            return await client.get(f"/{await self.site.path()}/-/environments{rest}")

    async def push(self, rest: str, person: Person | None = None, **fields: str) -> httpx.Response:
        """Push a button, or send a form."""
        origin = {"Origin": self.site.services.settings.url, **forms.TOKEN}
        async with browser(self.site, person or self.site.root, **origin) as client:
            return await client.post(f"/{await self.site.path()}/-/environments{rest}", data=fields)
