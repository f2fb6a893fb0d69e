"""The container set on a real engine: it is built, comes up whole, and loses nothing when its processes are killed."""

import re
from pathlib import Path

import pytest

from tests.git.serving import git
from tests.production.container_set import STARTED_WITHIN, ContainerSet, container_set, runner
from tests.project import Document, Project
from tests.waiting import eventually

pytestmark = pytest.mark.nightly

KILLED = ("front", "holder", "api", "worker", "temporal", "postgresql")
"""All that lasts but the object store, whose stand-in keeps objects in memory."""
ONE_SHOT = ("certificates", "migrate", "bucket", "search-attributes")
JOBS = 4
CONFIG = f"""
talk:
  parallel: {JOBS}
  script:
    - n=0
    - while [ ! -e "$STOP" ]; do n=$((n+1)); echo "line $n."; sleep 0.5; done
    - echo "last $n."
    - echo $n > "said-$CI_NODE_INDEX"
  artifacts: {{paths: [said-*]}}
add:
  needs: [talk]
  script: ['test "$(ls said-* | wc -l)" = {JOBS}']
"""
UNCOMPILED = """
import sys, worker, pods.front, models.migrate, pods.temporal_certificates
from pathlib import Path
cached = [module.__cached__ for module in sys.modules.values() if getattr(module, "__cached__", None)]
print([file for file in cached if not Path(file).exists()], len(cached))
"""


async def test_the_set_comes_up_whole_and_loses_nothing_when_each_process_is_killed(tmp_path: Path) -> None:
    """Slow: it builds images, and starts and kills every process of production."""
    async with container_set(tmp_path) as made:
        await _is_whole(made)
        await _is_compiled(made)
        async with await made.client() as client, runner(made, client):
            tree, stop = tmp_path / "tree", tmp_path / "stop"
            tree.mkdir()
            project = await Project.create(client, "shop", tree, {".gitlab-ci.yml": CONFIG})
            await git("config", "http.sslCAInfo", made.authority, cwd=tree)
            pipeline = await project.push(f"ci.variable=STOP={stop}")
            await eventually(lambda: _all_talk(project, pipeline), "all jobs talk", STARTED_WITHIN)
            for service in KILLED:
                for container in await made.containers(service):
                    await made.crash(container)
                    await eventually(made.is_ready, f"the set is ready without the {service} of before", STARTED_WITHIN)
            stop.touch()
            await _is_green_and_whole(project, pipeline)


async def _is_whole(made: ContainerSet) -> None:
    """One-shots have ended well, and all else runs."""
    for service in ONE_SHOT:
        [container] = await made.containers(service)
        state = await made.state(container)
        assert (state["Status"], state["ExitCode"]) == ("exited", 0), service
    for service in (*KILLED, "object-store"):
        containers = await made.containers(service)
        assert len(containers) == (2 if service in {"api", "worker"} else 1)
        assert {(await made.state(container))["Status"] for container in containers} == {"running"}


async def _is_compiled(made: ContainerSet) -> None:
    """No module that a process of ours imports has to be compiled at its start."""
    uncompiled = await made.compose("exec", "-T", "worker", "python", "-c", UNCOMPILED)
    missing, count = re.fullmatch(r"(\[.*\]) (\d+)\n", uncompiled).groups()  # type: ignore[union-attr]
    assert (missing, int(count) > 500) == ("[]", True)


async def _all_talk(project: Project, pipeline: Document) -> bool:
    jobs = [job for name, job in (await project.jobs(pipeline["id"])).items() if name != "add"]
    logs = [await project.log(job["id"]) for job in jobs if job["status"] == "running"]
    return len([log for log in logs if "line 1." in log]) == JOBS


async def _is_green_and_whole(project: Project, pipeline: Document) -> None:
    """Each job ran once, and each line that it printed is in its log once, in order."""
    ended = await project.ended(pipeline["id"], STARTED_WITHIN)
    jobs = await project.get(f"pipelines/{pipeline['id']}/jobs?include_retried=true&per_page=100")
    assert (ended["status"], len(jobs)) == ("success", JOBS + 1), [(job["name"], job["status"]) for job in jobs]
    for job in jobs:
        if job["name"] != "add":
            log = await project.log(job["id"])
            said = [int(number) for number in re.findall(r"\bline (\d+)\.", log)]
            [last] = re.findall(r"\blast (\d+)\.", log)
            assert said == list(range(1, int(last) + 1)), job["name"]
