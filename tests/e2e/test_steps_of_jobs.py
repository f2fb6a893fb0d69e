"""A job with `run` on the whole stack: pushed, run by the built-in runner, found again by the next one."""

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from cli.installation.demo import Scene
from domain.errors import Invalid
from domain.pipelines.status import COMPLETE
from pods.stack import temporal_command
from tests.faults.stack import PATIENT, Stack, jobs_of, pipeline_of, place_of_jobs, running
from tests.waiting import until

pytestmark = pytest.mark.slow

CONFIG = """\
work:
  run:
    - {name: hello, step: ./steps/greet, inputs: {who: "${{ vars.CI_JOB_NAME }}"}}
    - {name: key, step: ./steps/key}
    - name: wait
      script: |
        echo wait >>MARKS/runs
        echo "began with ${{ steps.key.outputs.key }}"
        touch MARKS/waits
        while [ ! -e MARKS/go ]; do sleep 0.05; done
        echo "went on"
    - {name: last, script: "echo last >>MARKS/runs; echo ${{ steps.hello.outputs.line }}; test -e MARKS/pass"}
"""
GREET = """\
spec:
  inputs: {who: {type: string}}
  outputs: {line: {type: string}}
---
exec:
  command:
    - sh
    - -c
    - 'echo hello >>MARKS/runs; printf "{\\"name\\":\\"line\\",\\"value\\":\\"hi %s\\"}" "$0" >"$1"'
    - ${{ inputs.who }}
    - ${{ output_file }}
"""
KEY = """\
spec:
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


@pytest.mark.parametrize(("jobs_as", "door"), [("", "rest"), ("server", "temporal")])
def test_steps_are_found_again_and_begun_again(tmp_path: Path, jobs_as: str, door: str) -> None:
    """A runner is killed in the third step: the log is that of one runner, and each step is run once.

    The fourth step fails, and the job is retried from the second on.
    """
    tmp_path.chmod(0o755)
    extra = {**PATIENT, **({"PERDURE_JOBS_AS": jobs_as} if jobs_as else {})}
    with place_of_jobs() as marks, running(tmp_path / "home", extra) as stack:
        scene = stack.scene()
        write(tmp_path / "project", marks)
        pipeline = pipeline_of(scene, stack.push(scene, tmp_path / "project"))
        until((marks / "waits").exists, 60)
        before = stack.pid("runner")
        stack.kill("runner")
        (marks / "go").touch()
        until(lambda: stack.runs("runner") and stack.pid("runner") != before, 30)
        job, log = _ended(scene, stack, pipeline["id"])
        assert (job["status"], job["failure_reason"]) == ("failed", "script_failure"), log
        assert len(jobs_of(scene, pipeline["id"])) == 1
        assert (marks / "runs").read_text().split() == ["hello", "wait", "last"]
        check_log(log, ["hi work", "step last: the command ended with exit code 1"])

        (marks / "pass").touch()
        route = f"/projects/{scene.project_id}/jobs/{job['id']}/retry"
        with pytest.raises(Invalid, match="step 'key' before it gave something sensitive"):
            scene.api.post(route, from_step="wait")
        if door == "rest":
            scene.api.post(route, from_step=2)
        else:
            update(stack, pipeline["id"], {"job_id": job["id"], "from_step": "key"})
        until(lambda: len(jobs_of(scene, pipeline["id"])) == 2, 30)
        again, log = _ended(scene, stack, pipeline["id"])
        assert (again["id"] != job["id"], again["status"]) == (True, "success"), log
        assert (marks / "runs").read_text().split() == ["hello", "wait", "last", "wait", "last"]
        assert "Step hello (./steps/greet): done by an earlier attempt" in log
        check_log(log, ["hi work"])


def write(project: Path, marks: Path) -> None:
    """The files that are pushed."""
    files = {".gitlab-ci.yml": CONFIG, "steps/greet/step.yml": GREET, "steps/key/step.yml": KEY}
    for name, text in files.items():
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text(text.replace("MARKS", str(marks)))


def check_log(log: str, last: list[str]) -> None:
    """Each step is a section of the log, once and in its order, and nothing of the key is in it."""
    assert section(log, "step_wait") == ["began with [MASKED]", "went on"]
    assert section(log, "step_last") == last
    assert "emases" not in log
    assert re.findall(r"section_(?:start|end):\d+:(step_\w+)", log) == [
        f"step_{name}" for name in ("hello", "key", "wait", "last") for _ in range(2)
    ]


def update(stack: Stack, pipeline_id: int, what: dict[str, Any]) -> None:
    """Retry as an operator does who has Temporal alone."""
    words = ["workflow", "update", "execute", "--workflow-id", f"pipeline-{pipeline_id}", "--name", "retry_job"]
    address = f"127.0.0.1:{stack.settings.temporal_port}"
    command = [temporal_command(), *words, "--input", json.dumps(what), "--address", address]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


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
