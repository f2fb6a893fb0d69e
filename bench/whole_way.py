"""The whole way of a job: created by the API, claimed, running, one chunk of log, success, pipeline `success`.

All of it on one real stack: Temporal's server, our process, (the front,) and a load that plays the runners, each a
process of its own.
"""

import asyncio
import os
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import httpx
import orjson

from bench.gen_ci_yaml import trivial
from bench.options import Options
from bench.servers import Servers, ask_module

_WARM: Final = 5
"""Pipelines that run unmeasured, so that no statement is compiled for the first time within a measurement."""


@dataclass(frozen=True, slots=True)
class Target:
    """A project with a configuration, and runners to run its jobs."""

    project: int
    runners: tuple[str, ...]


async def prepare(servers: Servers, options: Options) -> Target:
    """Set up the shape of the options, and run a few pipelines to warm up."""
    target = await set_up(servers, trivial(options.stages * options.jobs), options.runners)
    await run(servers, target, options, pipelines=_WARM)
    return target


async def set_up(servers: Servers, configuration: str, runners: int) -> Target:
    """Make the project, push its configuration, register so many runners."""
    headers = {"private-token": servers.token}
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{servers.port}", headers=headers, timeout=30) as api:
        made = await _post(api, "/api/v4/projects", {"path": "bench"})
        address = f"http://root:{servers.token}@127.0.0.1:{servers.port}/{made['path_with_namespace']}.git"
        await asyncio.to_thread(_push, address, configuration)
        wish = {"runner_type": "instance_type"}
        registered = [await _post(api, "/api/v4/user/runners", wish) for _ in range(runners)]
    return Target(made["id"], tuple(runner["token"] for runner in registered))


async def _post(api: httpx.AsyncClient, path: str, document: dict[str, str]) -> dict[str, Any]:
    response = await api.post(path, json=document)
    if response.status_code != httpx.codes.CREATED:
        raise RuntimeError(f"POST {path} was answered {response.status_code}: {response.text[:500]}")
    made: dict[str, Any] = orjson.loads(response.content)
    return made


def _push(address: str, configuration: str) -> None:
    with tempfile.TemporaryDirectory(prefix="perdure-bench-") as folder:
        (Path(folder) / ".gitlab-ci.yml").write_text(configuration)
        who = {"GIT_AUTHOR_NAME": "bench", "GIT_AUTHOR_EMAIL": "bench@example.com"}
        who |= {name.replace("AUTHOR", "COMMITTER"): value for name, value in who.items()}
        for command in (
            ("init", "--quiet", "--initial-branch=main"),
            ("add", "."),
            ("commit", "--quiet", "--message=Add jobs"),
            ("push", "--quiet", "--push-option=ci.no_pipeline", address, "main"),
        ):
            done = subprocess.run(
                ("git", *command), cwd=folder, env={**os.environ, **who}, capture_output=True, text=True
            )
            if done.returncode != 0:
                raise RuntimeError(f"git {command[0]} failed: {done.stderr[:1_000]}")


async def run(servers: Servers, target: Target, options: Options, *, pipelines: int = 0) -> dict[str, float]:
    """One run; the fields of `bench.load.Outcome`."""
    return await ask_module(
        "bench.load",
        {
            "port": servers.port,
            "token": servers.token,
            "project": target.project,
            "runners": target.runners,
            "pipelines": pipelines or options.pipelines,
            "jobs": options.stages * options.jobs,
        },
    )
