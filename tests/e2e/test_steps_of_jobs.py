"""A job with `run` on the whole stack: pushed, run by the built-in runner, found again by the next one."""

import re
from pathlib import Path
from typing import Any

import pytest

from cli.installation.demo import Scene
from domain.pipelines.status import COMPLETE
from tests.faults.stack import PATIENT, Stack, jobs_of, pipeline_of, place_of_jobs, running
from tests.waiting import until

pytestmark = pytest.mark.slow

CONFIG = """\
work:
  run:
    - {name: key, step: ./steps/key, inputs: {seed: "$CI_JOB_NAME"}}
    - name: wait
      script: |
        echo wait >>MARKS/runs
        echo "began with ${{ steps.key.outputs.key }}"
        touch MARKS/waits
        while [ ! -e MARKS/go ]; do sleep 0.05; done
        echo "went on"
    - {name: last, script: "echo last >>MARKS/runs; echo last; test -e MARKS/pass"}
"""
KEY = """\
spec:
  inputs: {seed: {type: string}}
  outputs: {key: {type: string, sensitive: true}}
---
exec:
  command:
    - sh
    - -c
    - 'printf "{\\"name\\":\\"key\\",\\"value\\":\\"%s\\"}" "$(echo open-sesame | rev)" >"$0"'
    - ${{ output_file }}
"""


def section(log: str, name: str) -> list[str]:
    """The lines within a section, without its title."""
    _, _, rest = log.partition(f":{name}\r")
    return rest.partition("\n")[2].partition("section_end:")[0].splitlines()


@pytest.mark.parametrize("jobs_as", ["", "server"])
def test_a_runner_that_is_killed_is_followed_by_one_that_goes_on(tmp_path: Path, jobs_as: str) -> None:
    """The log is that of one runner, each step is run once, and what is sensitive is masked."""
    tmp_path.chmod(0o755)
    extra = {**PATIENT, **({"PERDURE_JOBS_AS": jobs_as} if jobs_as else {})}
    with place_of_jobs() as marks, running(tmp_path / "home", extra) as stack:
        scene = stack.scene()
        (tmp_path / "project/steps/key").mkdir(parents=True)
        (tmp_path / "project/.gitlab-ci.yml").write_text(CONFIG.replace("MARKS", str(marks)))
        (tmp_path / "project/steps/key/step.yml").write_text(KEY)
        (marks / "pass").touch()
        pipeline = pipeline_of(scene, stack.push(scene, tmp_path / "project"))
        until((marks / "waits").exists, 60)
        before = stack.pid("runner")
        stack.kill("runner")
        (marks / "go").touch()
        until(lambda: stack.runs("runner") and stack.pid("runner") != before, 30)
        job, log = _ended(scene, stack, pipeline["id"])
        assert job["status"] == "success", log
        assert len(jobs_of(scene, pipeline["id"])) == 1
        assert (marks / "runs").read_text() == "wait\nlast\n"
        assert section(log, "step_wait") == ["began with [MASKED]", "went on"]
        assert section(log, "step_last") == ["last"]
        assert "emases" not in log
        assert re.findall(r"section_(?:start|end):\d+:(step_\w+)", log) == [
            f"step_{name}" for name in ("key", "wait", "last") for _ in range(2)
        ]


def _ended(scene: Scene, stack: Stack, pipeline_id: int) -> tuple[dict[str, Any], str]:
    """The latest attempt of the job, when it has ended, and its log."""

    def look() -> dict[str, Any] | None:
        job = jobs_of(scene, pipeline_id)[-1]
        return job if job["status"] in COMPLETE else None

    try:
        job = until(look, 60)
    except AssertionError as error:
        raise AssertionError(stack.logs()) from error
    return job, scene.api.text(f"/projects/{scene.project_id}/jobs/{job['id']}/trace")
