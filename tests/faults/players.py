"""Runners that a test plays through outages: they do what a runner does, and report what the job itself says.

A job's variable `PLAY` holds a word for each attempt: `ok`, or the exit code with which its script fails. The last word
is that of all further attempts; a job without the variable succeeds.
"""

import asyncio
import random
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import httpx

from tests.waiting import eventually

Document = dict[str, Any]

SUCCESS = "ok"
_AGAIN = 0.2
"""Seconds until a call that failed is made again."""
_HEARD_WITHIN = 60.0


@dataclass
class Seen:
    """What the runners saw: attempts by pipeline and name of the job, and how often each was handed out."""

    attempts: defaultdict[tuple[str, str], list[int]] = field(default_factory=lambda: defaultdict(list))
    hand_outs: Counter[int] = field(default_factory=Counter)
    acknowledged: dict[int, str] = field(default_factory=dict)
    """What the server said 200 to, by job."""
    asked_again: list[int] = field(default_factory=list)
    """Jobs that were handed out after a verdict on them had been acknowledged."""


class Players:
    """Runners of one server; each takes one job at a time. `longest` is how many seconds a job takes at most."""

    def __init__(self, url: str, tokens: Sequence[str], *, seed: int = 0, longest: float = 0.0) -> None:
        """`tokens` has one for each runner."""
        self.seen = Seen()
        self._url = url
        self._tokens = tokens
        self._chance = random.Random(seed)
        self._longest = longest
        self._at_work = 0

    async def play(self) -> None:
        """Play until cancelled."""
        async with httpx.AsyncClient(base_url=self._url, trust_env=False, timeout=30) as client:
            await asyncio.gather(*(self._runner(client, token, f"s_{i}") for i, token in enumerate(self._tokens)))

    async def rest(self) -> None:
        """Wait until every runner has heard what became of its job: SQL knows a little before the runner does."""

        async def all_heard() -> bool:
            return not self._at_work

        await eventually(all_heard, "every runner has heard what became of its job", _HEARD_WITHIN)

    async def _runner(self, client: httpx.AsyncClient, token: str, system: str) -> None:
        question = {"token": token, "system_id": system, "last_update": "waiting"}
        while True:
            response = await _call(client, "POST", "/api/v4/jobs/request", question)
            if response is not None and response.status_code == httpx.codes.CREATED:
                self._at_work += 1
                await self._job(client, response.json())
                self._at_work -= 1
            elif response is None or response.status_code != httpx.codes.NO_CONTENT:
                await asyncio.sleep(_AGAIN)

    async def _job(self, client: httpx.AsyncClient, job: Document) -> None:
        number = job["id"]
        attempts = self.seen.attempts[_variable(job, "CI_PIPELINE_ID"), job["job_info"]["name"]]
        if number in self.seen.acknowledged:
            self.seen.asked_again.append(number)
        self.seen.hand_outs[number] += 1
        if number not in attempts:
            attempts.append(number)
        path = f"/api/v4/jobs/{number}"
        await _call(client, "PUT", path, {"token": job["token"], "state": "running"})
        await asyncio.sleep(self._chance.uniform(0, self._longest))
        words = _variable(job, "PLAY").split() or [SUCCESS]
        word = words[min(attempts.index(number), len(words) - 1)]
        verdict = {"token": job["token"], **_verdict(word)}
        while (response := await _call(client, "PUT", path, verdict)) is None or response.is_server_error:
            await asyncio.sleep(_AGAIN)
        if response.status_code == httpx.codes.OK:
            self.seen.acknowledged[number] = verdict["state"]


def _verdict(word: str) -> Document:
    if word == SUCCESS:
        return {"state": "success"}
    return {"state": "failed", "failure_reason": "script_failure", "exit_code": int(word)}


def _variable(job: Document, name: str) -> str:
    return next((str(item["value"]) for item in job["variables"] if item["key"] == name), "")


async def _call(client: httpx.AsyncClient, method: str, path: str, body: Document) -> httpx.Response | None:
    """The response, or None if there was none."""
    try:
        return await client.request(method, path, json=body)
    except httpx.TransportError:
        return None
