"""Results of steps as a runner hands them in, for tests without one."""

import json
from typing import Any

from sqlalchemy import select

from models.clock import system_clock
from models.repositories.artifacts import artifacts
from models.repositories.pipelines.job_rows import job
from models.session import Database
from storage.objects import ObjectStore

RUN = """
    work:
      run:
        - {name: hello, script: echo}
        - {name: shout, script: echo}
        - {name: whisper, script: echo}
"""
"""A configuration of one job with three steps."""
DONE: dict[str, dict[str, Any]] = {
    "hello": {"outputs": {"line": "canary of an output"}, "exports": {"A": "1"}},
    "shout": {"outputs": {"line": "\0 \u20ac", "deep": [{"n": 1.5}, None]}, "exports": {}},
}
"""What the first two steps gave."""


def step(name: str, status: str = "success", *, is_kept: bool = True, **given: Any) -> dict[str, Any]:
    """The entry of a step."""
    return {"name": name, "status": status, "is_kept": is_kept, "outputs": {}, "exports": {}, **given}


STEPS = [*(step(name, **given) for name, given in DONE.items()), step("whisper", "failed", is_kept=False)]
"""The last one failed."""


def written(*steps: Any) -> bytes:
    """The file of these steps."""
    return json.dumps({"version": 1, "steps": steps}).encode()


async def hand_in(database: Database, store: ObjectStore, job_id: int, content: bytes, **values: Any) -> None:
    """The rows and the object that an upload makes; `values` are columns of the artifact."""
    key = f"projects/1/jobs/{job_id}/steps-1"
    stored = await store.put(key, content)
    known: dict[str, Any] = {"file_type": artifacts.STEPS, "file_format": "raw", "filename": "steps.json"}
    described = {"size": stored.size, "sha256": stored.sha256, "object_key": key, "access": "all", "parsed": True}
    async with database.write() as connection:
        project = select(job.c.project_id).where(job.c.id == job_id)
        known["project_id"] = (await connection.execute(project)).scalar_one()
        await artifacts.add(connection, system_clock(), **{**known, **described, "job_id": job_id, **values})
