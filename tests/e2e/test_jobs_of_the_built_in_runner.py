"""As whom the built-in runner runs jobs, and for whom: nobody but administrators reads what the server keeps."""

from pathlib import Path
from typing import Any

import pytest

from cli.installation.demo import Scene
from cli.installation.job_rights import USER
from domain.pipelines.status import COMPLETE
from tests.faults.stack import Stack, jobs_of, pipeline_of, running
from tests.fleet.job_users import needs_root
from tests.waiting import until

pytestmark = pytest.mark.slow


def look(stack: Stack, scene: Scene, folder: Path) -> dict[str, Any]:
    """Push a job that tries to read what the server keeps; the job, once it waits for nobody or for permission."""
    kept = " ".join(f"{stack.home}/{name}" for name in ("credentials.json", "keys", "perdure.db", "runner/config.toml"))
    folder.mkdir()
    (folder / ".gitlab-ci.yml").write_text(
        f"look:\n  artifacts: {{paths: [made]}}\n  script:\n"
        f"    - id -un | tee made\n    - for path in {kept}; do if ls -A $path; then echo READ; fi; done\n"
    )
    pipeline = pipeline_of(scene, stack.push(scene, folder))
    (job,) = until(lambda: jobs_of(scene, pipeline["id"]), 30)
    return job


def end_of(scene: Scene, job_id: int) -> tuple[str, str]:
    """Status and log of a job that has ended."""
    route = f"/projects/{scene.project_id}/jobs/{job_id}"
    until(lambda: scene.api.get(route)["status"] in COMPLETE, 60)
    return scene.api.get(route)["status"], scene.api.text(f"{route}/trace")


@needs_root
def test_started_by_root_it_runs_them_as_a_user_who_reads_nothing(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    with running(tmp_path / "home") as stack:
        scene = stack.scene()
        status, log = end_of(scene, look(stack, scene, tmp_path / "project")["id"])
    assert status == "success"
    assert f"\n{USER}\n" in log
    assert log.count("Permission denied") == 4
    assert "\nREAD" not in log


def test_as_the_server_it_waits_until_an_administrator_lets_the_project_in(tmp_path: Path) -> None:
    with running(tmp_path / "home", {"PERDURE_JOBS_AS": "server"}) as stack:
        scene = stack.scene()
        root = stack.root()
        project = f"/projects/{scene.project_id}"
        root.put(project, may_run_as_server=False)
        job = look(stack, scene, tmp_path / "project")
        stuck = until(lambda: scene.api.get(f"{project}/jobs/{job['id']}/why")["stuck_reason"], 30)
        assert "`perdure runner allow demo/calculator`" in stuck
        assert scene.api.get(f"{project}/jobs/{job['id']}")["status"] == "pending"
        root.put(project, may_run_as_server=True)
        status, log = end_of(scene, job["id"])
    assert status == "success"
    assert log.count("\nREAD\n") == 4
