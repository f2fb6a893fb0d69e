"""Where the configuration of a pipeline comes from: the commit, another project, an address, or Auto DevOps."""

from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.api.v4.site import Site, open_site
from tests.api.v4.told_faults import told_faults
from tests.git.serving import git, new_work_tree

HEADER = "spec: {inputs: {level: {default: 1, type: number}}}\n---\n"
OTHER = {"ci/main.yml": HEADER + "far: {script: 'echo $[[ inputs.level ]]'}\n"}


def address(site: Site, rest: str = "") -> str:
    return f"/api/v4/projects/{site.world.project_id}{rest}"


async def started(site: Site, **body: Any) -> Any:
    async with site.client(site.root) as client:
        response = await client.post(address(site, "/pipeline"), json={"ref": "main", **body})
        if response.status_code != 201:
            return told_faults(response)
        pipeline = response.json()
        jobs = (await client.get(address(site, f"/pipelines/{pipeline['id']}/jobs"))).json()
    return pipeline["config_source"], sorted(job["name"] for job in jobs)


async def change(site: Site, **values: Any) -> httpx.Response:
    async with site.client(site.root) as client:
        return await client.put(address(site), json=values)


async def other_project(site: Site) -> str:
    async with site.client(site.root) as client:
        made = (await client.post("/api/v4/projects", json={"name": "ci"})).json()
    await new_work_tree(site.folder / "other", OTHER)
    target = site.services.repositories.path(made["id"])
    await git("push", "-q", target, "main", "main:refs/heads/v1", cwd=site.folder / "other")
    return str(made["path_with_namespace"])


async def test_the_path_of_the_configuration_is_honoured(site: Site) -> None:
    await site.commit({".gitlab-ci.yml": "top: {script: x}\n", "ci/a.yml": "inner: {script: x}\n"})
    assert await started(site) == ("repository_source", ["top"])
    assert (await change(site, ci_config_path="ci/a.yml")).json()["ci_config_path"] == "ci/a.yml"
    assert await started(site) == ("repository_source", ["inner"])
    await change(site, ci_config_path="none.yml")
    assert "has no none.yml" in str(await started(site))
    other = await other_project(site)
    await change(site, ci_config_path=f"ci/main.yml@{other}")
    assert await started(site) == ("external_project_source", ["far"])
    await change(site, ci_config_path=f"ci/main.yml@{other}:v1")
    assert await started(site, inputs={"level": 7}) == ("external_project_source", ["far"])
    await change(site, ci_config_path=f"ci/main.yml@{other}:nowhere")
    assert "nowhere" in str(await started(site))
    await change(site, ci_config_path="http://127.0.0.1:9/a.yml")
    assert "blocked address" in str(await started(site))
    assert (await change(site, ci_config_path="")).json()["ci_config_path"] == ""
    assert await started(site) == ("repository_source", ["top"])
    assert (await change(site, ci_config_path="../a.yml")).status_code == 400


async def test_inputs_and_the_path_reach_the_jobs(site: Site) -> None:
    await site.commit({"x": "1"})
    await change(site, ci_config_path=f"ci/main.yml@{await other_project(site)}")
    async with site.client(site.root) as client:
        made = (await client.post(address(site, "/pipeline"), json={"ref": "main", "inputs": {"level": 7}})).json()
    await site.world.settle(made["id"])
    job = await site.world.job()
    assert job["steps"][0]["script"] == ["echo 7"]
    told = {item["key"]: item["value"] for item in job["variables"]}
    assert told["CI_CONFIG_PATH"].startswith("ci/main.yml@")


async def test_somebody_who_may_not_read_the_other_project_gets_no_pipeline_from_it(site: Site) -> None:
    await site.commit({"x": "1"})
    await change(site, ci_config_path=f"ci/main.yml@{await other_project(site)}")
    person = await site.person("ada", 40)
    async with site.client(person) as client:
        response = await client.post(address(site, "/pipeline"), json={"ref": "main"})
    assert (response.status_code, "access denied" in response.text) == (400, True)


JOBS_OF = [
    ({"Makefile": "test:\n"}, ["test"]),
    ({"pyproject.toml": "[project]\n"}, ["test-python"]),
    (
        {"package.json": "{}", "go.mod": "module x\n", "Cargo.toml": "[package]\n"},
        ["test-go", "test-node", "test-rust"],
    ),
    ({"Dockerfile": "FROM scratch\n", "Makefile": "test:\n"}, ["build", "test"]),
]


@pytest.mark.parametrize(("files", "jobs"), JOBS_OF)
async def test_auto_devops_sees_what_a_repository_is_made_of(
    site: Site, files: dict[str, str], jobs: list[str]
) -> None:
    await site.commit(files)
    assert "Missing CI config file" in str(await started(site))
    assert (await change(site, auto_devops_enabled=True)).json()["auto_devops_enabled"] is True
    source, found = await started(site)
    assert source == "auto_devops_source"
    assert {"code_quality", *jobs} <= set(found)
    assert {name for name in found if name.startswith(("test", "build"))} == set(jobs)


async def test_a_configuration_of_the_commit_comes_before_auto_devops(site: Site) -> None:
    await site.commit({".gitlab-ci.yml": "mine: {script: x}\n", "Makefile": "test:\n"})
    await change(site, auto_devops_enabled=True)
    assert await started(site) == ("repository_source", ["mine"])


async def test_the_installation_may_have_it_on_and_a_project_off(tmp_path: Path, database_url: str) -> None:
    async with open_site(tmp_path, database_url, auto_devops=True) as site:
        await site.commit({"Makefile": "test:\n"})
        assert (await started(site))[0] == "auto_devops_source"
        await change(site, auto_devops_enabled=False)
        assert "Missing CI config file" in str(await started(site))
