"""A runner played by hand: takes jobs and ends them well, without running anything."""

import zlib
from typing import Any

import httpx

from tests.project import Project
from tests.waiting import eventually

Document = dict[str, Any]


class Player:
    """Speaks the runner protocol over `client`."""

    def __init__(self, client: httpx.AsyncClient, registration_token: str) -> None:
        """Register with this token first."""
        self._client = client
        self._registration_token = registration_token
        self._token = ""

    async def register(self, tags: str = "") -> None:
        """Become a runner, with these tags."""
        body = {"token": self._registration_token, "description": "player", "run_untagged": True, "tag_list": tags}
        response = await self._client.post("/api/v4/runners", json=body)
        assert response.status_code == 201, response.text
        self._token = response.json()["token"]

    async def ask(self) -> Document | None:
        """A job, if there is one."""
        response = await self._client.post("/api/v4/jobs/request", json={"token": self._token, "system_id": "s_player"})
        return response.json() if response.status_code == 201 else None

    async def job(self) -> Document:
        """A job, as soon as there is one."""
        return await self.job_within(20)

    async def job_within(self, seconds: float) -> Document:
        """The same, for whoever waits longer or shorter."""
        return await eventually(self.ask, "there is a job", seconds)

    async def finish(self, job: Document, state: str = "success") -> int:
        """Send a log and how it ended; the status of the last response."""
        log = f"played {job['job_info']['name']}\n".encode()
        place = {"JOB-TOKEN": job["token"], "Content-Range": f"0-{len(log) - 1}"}
        await self._client.patch(f"/api/v4/jobs/{job['id']}/trace", content=log, headers=place)
        output = {"checksum": f"crc32:{zlib.crc32(log):08x}", "bytesize": len(log)}
        body = {"token": job["token"], "state": state, "output": output}
        if state == "failed":
            body |= {"failure_reason": "script_failure", "exit_code": 1}
        return (await self._client.put(f"/api/v4/jobs/{job['id']}", json=body)).status_code

    async def play_until_idle(self, project: Project, pipeline_id: int) -> list[str]:
        """Play every job until the pipeline is complete; their names in order."""
        names: list[str] = []

        async def step() -> bool:
            job = await self.ask()
            if job is not None:
                assert await self.finish(job) == 200
                names.append(job["job_info"]["name"])
                return False
            return (await project.get(f"pipelines/{pipeline_id}"))["status"] in {"success", "failed"}

        await eventually(step, "the pipeline is complete", 60)
        return names
