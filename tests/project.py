"""A project on a running server, with a work tree that is pushed to it by git over HTTP."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import httpx

from tests.git.serving import git
from tests.waiting import eventually

Document = dict[str, Any]


@dataclass(frozen=True)
class Project:
    """Reads pipelines and jobs over the REST API of `client`."""

    client: httpx.AsyncClient
    id: int
    tree: Path

    @classmethod
    async def create(cls, client: httpx.AsyncClient, name: str, tree: Path, files: Mapping[str, str]) -> "Project":
        """Make project `name` of the caller, and in `tree` a repository with one commit that holds these files too.

        `client` has the administrator's token in `PRIVATE-TOKEN`. What lies in `tree` already is committed as well.
        """
        response = await client.post("/api/v4/projects", json={"name": name})
        assert response.status_code == httpx.codes.CREATED, response.text
        parts = urlsplit(str(client.base_url))
        who = f"root:{client.headers['private-token']}@{parts.netloc}"
        remote = urlunsplit(parts._replace(netloc=who, path=f"/{response.json()['path_with_namespace']}.git"))
        await git("init", "-q", "-b", "main", tree, cwd=tree.parent)
        await git("remote", "add", "origin", remote, cwd=tree)
        project = cls(client, response.json()["id"], tree)
        await project.commit(files)
        return project

    async def commit(self, files: Mapping[str, str]) -> str:
        """Write these files and commit everything; the new sha."""
        for name, text in files.items():
            (self.tree / name).parent.mkdir(parents=True, exist_ok=True)
            (self.tree / name).write_text(text)
        await git("add", ".", cwd=self.tree)
        await git("commit", "-q", "--allow-empty", "-m", "Change", cwd=self.tree)
        return await git("rev-parse", "HEAD", cwd=self.tree)

    async def push(self, *options: str) -> Document:
        """Push `main` with these push options; the pipeline that came of it."""
        words = [word for option in options for word in ("-o", option)]
        await git("push", *words, "origin", "main", cwd=self.tree)
        pipeline: Document = await self.get("pipelines/latest")
        return pipeline

    async def get(self, path: str) -> Any:
        """A document below the project."""
        response = await self.client.get(f"/api/v4/projects/{self.id}/{path}")
        response.raise_for_status()
        return response.json()

    async def jobs(self, pipeline_id: int) -> dict[str, Document]:
        """The latest attempt of each job of a pipeline, by name."""
        found = await self.get(f"pipelines/{pipeline_id}/jobs?per_page=100")
        return {job["name"]: job for job in found}

    async def log(self, job_id: int) -> str:
        """The log of a job."""
        response = await self.client.get(f"/api/v4/projects/{self.id}/jobs/{job_id}/trace")
        response.raise_for_status()
        return response.text

    async def job_with(self, pipeline_id: int, name: str, *statuses: str, within: float = 20.0) -> Document:
        """A job as soon as it has one of these statuses."""

        async def look() -> Document | None:
            job = (await self.jobs(pipeline_id))[name]
            return job if job["status"] in statuses else None

        return await eventually(look, f"job {name} is {' or '.join(statuses)}", within)

    async def ended(self, pipeline_id: int, within: float = 60.0) -> Document:
        """The pipeline when it is complete."""

        async def look() -> Document | None:
            pipeline: Document = await self.get(f"pipelines/{pipeline_id}")
            return pipeline if pipeline["status"] in {"success", "failed", "canceled", "skipped"} else None

        return await eventually(look, f"pipeline {pipeline_id} has ended", within)
