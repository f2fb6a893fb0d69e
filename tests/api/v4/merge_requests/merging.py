"""Branches, merge requests and their pipelines on a site: commits over the REST API, jobs that a runner plays."""

from dataclasses import replace
from typing import Any

import httpx
from sqlalchemy import select

from domain.messages import Command
from domain.pipelines.decisions import decide
from domain.pipelines.status import COMPLETE
from loops.merge_requests import MergeLoop
from models.repositories.pipelines import decisions, loading, outbox, pipelines
from tests.api.v4.site import Person, Site, _ticks
from tests.git.serving import git

CONFIG = """
test:
  script: make check
  rules:
    - if: $CI_PIPELINE_SOURCE == "merge_request_event"
"""
BOTH = """
test: {script: make check, rules: [{if: $CI_PIPELINE_SOURCE == "merge_request_event"}]}
build: {script: make, rules: [{if: $CI_COMMIT_BRANCH}]}
"""


class Merging:
    """What people do to the project of a site, each with a client of their own."""

    def __init__(self, site: Site) -> None:
        """Act as root unless told otherwise."""
        self.site = site
        self.id = site.world.project_id
        self.loop = MergeLoop(site.services)
        self._held: dict[int, list[dict[str, Any]]] = {}

    async def begin(self, config: str = CONFIG, **files: str) -> str:
        """A first commit on `main`, which makes no pipeline."""
        return await self.site.commit({".gitlab-ci.yml": config, "README": "read me\n", **files})

    async def call(
        self, method: str, path: str, who: Person | None = None, project: int | None = None, **options: Any
    ) -> httpx.Response:
        """A call below the project."""
        async with self.site.client(who or self.site.root) as client:
            return await client.request(method, f"/api/v4/projects/{project or self.id}/{path}", **options)

    async def good(self, method: str, path: str, who: Person | None = None, **options: Any) -> Any:
        """The same, which must succeed; its document."""
        response = await self.call(method, path, who, **options)
        assert response.is_success, f"{method} {path}: {response.status_code} {response.text}"
        return response.json() if response.content else None

    async def commit(
        self,
        branch: str,
        files: dict[str, str],
        who: Person | None = None,
        *,
        start: str = "main",
        message: str = "Change",
        project: int | None = None,
    ) -> str:
        """Commit files to a branch, which is made from `start` if it is not there; the sha."""
        there = await self.call("HEAD", f"repository/branches/{branch.replace('/', '%2F')}", who, project)
        known = (await self.call("GET", "repository/tree", who, project, params={"ref": branch})).json()
        names = {item["name"] for item in known} if isinstance(known, list) else {"README", ".gitlab-ci.yml"}
        actions = [
            {"action": "update" if name in names else "create", "file_path": name, "content": text}
            for name, text in files.items()
        ]
        body = {"branch": branch, "commit_message": message, "actions": actions}
        if not there.is_success:
            body["start_branch"] = start
        made = await self.good("POST", "repository/commits", who, project=project, json=body)
        return str(made["id"])

    async def open(self, source: str, target: str = "main", who: Person | None = None, **more: Any) -> dict[str, Any]:
        """Open a merge request."""
        project = more.pop("project", None)
        body = {"source_branch": source, "target_branch": target, "title": f"Bring {source}", **more}
        opened: dict[str, Any] = await self.good("POST", "merge_requests", who, project=project, json=body)
        return opened

    async def feature(self, name: str, **more: Any) -> dict[str, Any]:
        """A branch with one file of its name, and a merge request for it."""
        await self.commit(name, {f"{name}.txt": f"{name}\n"})
        return await self.open(name, **more)

    async def get(self, iid: int) -> dict[str, Any]:
        """A merge request as it is now."""
        found: dict[str, Any] = await self.good("GET", f"merge_requests/{iid}")
        return found

    async def merge(self, iid: int, who: Person | None = None, **body: Any) -> httpx.Response:
        """Ask for the merge."""
        return await self.call("PUT", f"merge_requests/{iid}/merge", who, json=body)

    async def pipelines(self, iid: int) -> list[dict[str, Any]]:
        """The pipelines of a merge request."""
        found: list[dict[str, Any]] = await self.good("GET", f"merge_requests/{iid}/pipelines")
        return found

    async def all_pipelines(self, project: int | None = None) -> list[dict[str, Any]]:
        """Every pipeline of a project, the oldest first."""
        found: list[dict[str, Any]] = await self.good("GET", "pipelines?per_page=100&sort=asc", project=project)
        return found

    async def job_of(self, pipeline_id: int) -> dict[str, Any]:
        """The next job of a pipeline, as its runner gets it; jobs of others are kept for later."""
        await self.site.world.settle(pipeline_id)
        while not self._held.get(pipeline_id):
            job = await self.site.world.job()
            self._held.setdefault(job["job_info"]["pipeline_id"], []).append(job)
        return self._held[pipeline_id].pop(0)

    async def play(self, pipeline_id: int, state: str = "success") -> dict[str, Any]:
        """End the one job of a pipeline; what its runner was told."""
        job = await self.job_of(pipeline_id)
        reason = {"failure_reason": "script_failure"} if state == "failed" else {}
        assert (await self.site.world.put(job, state, b"", **reason)).status_code == 200
        await self.site.world.settle(pipeline_id)
        return job

    async def obey(self) -> None:
        """Carry out the commands that lie in the outbox, as relay and workflow would."""
        services = self.site.services
        async with services.database.read() as connection:
            rows = await outbox.unsent(connection, services.clock(), 100, (outbox.COMMAND,))
        for row in rows:
            async with services.database.read() as connection:
                loaded = await loading.load(connection, row.pipeline_id)
            command = Command(row.payload["name"], row.payload["key"], None, {})
            turn = decide(loaded.pipeline, loaded.verdicts, (command,), services.clock())
            async with services.database.write() as connection:
                if turn.decision is not None:
                    run = int(services.clock().timestamp() * 1e6)
                    await decisions.record(
                        connection, replace(turn.decision, run=run, tick=next(_ticks)), services.clock()
                    )
                await outbox.mark_sent(connection, [row], services.clock())

    async def status(self, pipeline_id: int) -> str:
        """The status of a pipeline."""
        async with self.site.services.database.read() as connection:
            return str((await pipelines.get(connection, pipeline_id)).status)

    async def row(self, pipeline_id: int) -> Any:
        """The row of a pipeline."""
        async with self.site.services.database.read() as connection:
            return await pipelines.get(connection, pipeline_id)

    async def is_over(self, pipeline_id: int) -> bool:
        """Whether a pipeline has ended."""
        return await self.status(pipeline_id) in COMPLETE

    async def git(self, *words: str, project: int | None = None) -> str:
        """What git says of the project's repository."""
        path = self.site.services.repositories.path(project or self.id)
        return await git(*words, cwd=path)

    async def rows(self, table: Any) -> list[Any]:
        """All rows of a table."""
        async with self.site.services.database.read() as connection:
            return list((await connection.execute(select(table))).all())
