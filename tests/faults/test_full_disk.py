"""The disk of a whole installation is full for a while: what is said of it is right, and no job is lost."""

import json
import time
from pathlib import Path
from typing import Any, Final

import pytest

from domain.errors import PerdureError
from tests.faults.stack import PATIENT, Stack
from tests.small_disk import fill, make_room, small_disk
from tests.waiting import HANGS, until

pytestmark = pytest.mark.slow  # a stack and ten jobs, for a minute

SIZE: Final = "400m"
LOOKS: Final = 100
"""So often what has become free is taken again."""
PAUSE: Final = 0.2
RETRY: Final = "default: {retry: {max: 2, when: [runner_system_failure]}}\n"
"""A job whose log finds no room fails so."""
PIPELINE: Final = f"stages: [a, b]\n{RETRY}" + "".join(
    f"j{number}: {{stage: {stage}, script: ['for i in 1 2 3 4 5; do echo line $i; sleep 1; done']}}\n"
    for number, stage in enumerate("aaaaabbbbb")
)


def children(stack: Stack) -> dict[str, dict[str, Any]]:
    """What `perdure status` says, by process."""
    return {one["name"]: one for one in json.loads(stack._run("status", "--json", check=False))["children"]}


def test_a_full_disk_and_room_again(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", SIZE) as disk:
        stack = Stack(disk / "home", {**PATIENT, "PERDURE_JOBS_AS": "server"})
        stack.up()
        try:
            filled_and_emptied(stack, disk, tmp_path)
        finally:
            stack.down()


def filled_and_emptied(stack: Stack, disk: Path, folder: Path) -> None:
    """Fill the disk in the midst of a pipeline, and kill the API meanwhile."""
    scene = stack.scene()
    project = folder / "project"
    project.mkdir()
    (project / ".gitlab-ci.yml").write_text(PIPELINE)
    stack.push(scene, project)

    def jobs() -> dict[str, str]:
        try:
            found = scene.api.get(f"/projects/{scene.project_id}/jobs", per_page=100)
        except PerdureError:
            return {}
        return {job["name"]: job["status"] for job in found}

    until(lambda: "running" in jobs().values(), HANGS)
    first = stack.pid("api")
    fill(disk)
    stack.kill("api")
    for _ in range(LOOKS):
        fill(disk)
        time.sleep(PAUSE)
    make_room(disk)
    until(lambda: all(one["ready"] for one in children(stack).values()), HANGS)
    assert children(stack)["api"]["pid"] not in {first, None}
    until(lambda: set(jobs().values()) == {"success"}, 3 * HANGS)
    said = stack.command("logs", "supervisor", "--lines", "1000")
    assert "api was ended by SIGKILL" in said
    assert "the record of api is written" in said
    assert len(jobs()) == 10
