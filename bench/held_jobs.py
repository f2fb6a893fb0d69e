"""Jobs that a runner holds: made by a pipeline, claimed and taken up; ended with the checksum of what was sent."""

import zlib
from dataclasses import dataclass
from typing import Any

import httpx

from bench import whole_way
from bench.log_load import CHUNK, chunk
from bench.servers import Servers


@dataclass(frozen=True, slots=True)
class HeldJobs:
    """Id and token of each, and their project."""

    project: int
    jobs: list[tuple[int, str]]


async def hold(servers: Servers, number: int) -> HeldJobs:
    """So many jobs of one pipeline."""
    configuration = "".join(f"job-{index}: {{script: ['true']}}\n" for index in range(number))
    target = await whole_way.set_up(servers, configuration, 1)
    question = {"token": target.runners[0], "system_id": "s_bench", "info": {}}
    held: list[tuple[int, str]] = []
    async with _client(servers) as api:
        made = await api.post(f"/api/v4/projects/{target.project}/pipeline", json={"ref": "main"})
        made.raise_for_status()
        while len(held) < number:
            response = await api.post("/api/v4/jobs/request", json=question)
            if response.status_code == httpx.codes.CREATED:
                job = response.json()
                held.append((job["id"], job["token"]))
                (await api.put(f"/api/v4/jobs/{job['id']}", json=_update(job["token"], "running"))).raise_for_status()
    return HeldJobs(target.project, held)


async def end(servers: Servers, held: HeldJobs, chunks: int) -> None:
    """Each log is so many chunks. Raises `httpx.HTTPStatusError` when the server thinks otherwise."""
    content, crc = chunk(), 0
    for _ in range(chunks):
        crc = zlib.crc32(content, crc)
    async with _client(servers) as api:
        for job, token in held.jobs:
            verdict = _update(token, "success", checksum=f"crc32:{crc:08x}", bytesize=chunks * CHUNK)
            (await api.put(f"/api/v4/jobs/{job}", json=verdict)).raise_for_status()


def _update(token: str, state: str, **output: Any) -> dict[str, Any]:
    return {"token": token, "state": state, "output": output}


def _client(servers: Servers) -> httpx.AsyncClient:
    address = f"http://127.0.0.1:{servers.port}"
    return httpx.AsyncClient(base_url=address, headers={"private-token": servers.token}, timeout=60, trust_env=False)
