"""What a client finds: a project with a commit, perhaps a merge request, and a working copy of it."""

import asyncio
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import httpx

from tests.program import environment
from tests.waiting import eventually

GOT_OUT_OF_THE_WAY: Final = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"}


@dataclass
class ClientProject:
    """The project `root/NAME` of a server at `url`, whose administrator has `token`; `tree` is a working copy."""

    url: str
    token: str
    name: str
    folder: Path
    id: int = 0

    @property
    def tree(self) -> Path:
        """The working copy."""
        return self.folder / self.name

    @property
    def path(self) -> str:
        """The full path."""
        return f"root/{self.name}"

    @property
    def remote(self) -> str:
        """The address that git pushes to."""
        return f"{self.url.replace('://', f'://root:{self.token}@')}/{self.path}.git"

    @property
    def api(self) -> str:
        """The address of the REST API."""
        return f"{self.url}/api/v4"

    async def call(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        """A call of the REST API that must succeed; its document."""
        headers = {"PRIVATE-TOKEN": self.token}
        async with httpx.AsyncClient(base_url=self.api, headers=headers, trust_env=False, timeout=60) as client:
            response = await client.request(method, path, json=body)
        assert response.is_success, f"{method} {path}: {response.status_code} {response.text}"
        return response.json() if response.content else None

    async def below(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        """The same below the project."""
        return await self.call(method, f"/projects/{self.id}{path}", body)

    async def make(self, files: Mapping[str, str], message: str = "feat: first") -> None:
        """Make the project with a first commit."""
        made = await self.call("POST", "/projects", {"name": self.name, "path": self.name})
        self.id = made["id"]
        self.tree.mkdir(parents=True)
        await self.git("init", "-q", "-b", "main")
        await self.git("remote", "add", "origin", self.remote)
        await self.commit(files, message)
        await self.git("push", "-q", "-u", "origin", "main")

    async def commit(self, files: Mapping[str, str], message: str) -> None:
        """Commit files in the working copy."""
        for name, text in files.items():
            (self.tree / name).write_text(text)
        await self.git("add", "-A")
        await self.git("commit", "-q", "-m", message)

    async def request(self, branch: str, files: Mapping[str, str], message: str) -> int:
        """Push a branch, open a merge request from it, and come back to `main`; its number."""
        await self.git("checkout", "-q", "-b", branch)
        await self.commit(files, message)
        await self.git("push", "-q", "origin", branch)
        await self.git("checkout", "-q", "main")
        body = {"source_branch": branch, "target_branch": "main", "title": message}
        return int((await self.below("POST", "/merge_requests", body))["iid"])

    async def merge(self, iid: int) -> None:
        """Merge a merge request, and have that in the working copy."""

        async def can_be() -> bool:
            found = await self.below("GET", f"/merge_requests/{iid}")
            return bool(found["detailed_merge_status"] == "mergeable")

        await eventually(can_be, "it can be merged")
        await self.below("PUT", f"/merge_requests/{iid}/merge")
        await self.git("pull", "-q", "origin", "main")

    async def git(self, *words: str) -> str:
        """A call of git in the working copy."""
        author = {
            f"GIT_{who}_{what}": "ada@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")
        }

        def run() -> str:
            return subprocess.run(
                ("git", *words),
                cwd=self.tree,
                env=environment(**author, **GOT_OUT_OF_THE_WAY),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                check=True,
                timeout=120,
            ).stdout.strip()

        return await asyncio.to_thread(run)
