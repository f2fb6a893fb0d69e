"""Why a pipeline is as it is."""

import pytest
from sqlalchemy import select

from models.columns import table_of
from models.tables.pipelines import Job, Pipeline
from tests.api.v4.site import Site


async def test_a_pipeline_tells_why_its_jobs_are_in_and_others_out(site: Site) -> None:
    await site.commit(
        {
            ".gitlab-ci.yml": "workflow: {name: 'Of $CI_COMMIT_BRANCH', rules: [{if: $CI_COMMIT_BRANCH}]}\n"
            "a: {script: x, rules: [{if: '$LEVEL == \"3\"'}]}\nb: {script: x, rules: [{changes: [docs/**]}]}\n"
            "c: {script: x, rules: [{if: $CI_COMMIT_TAG}]}\n"
        }
    )
    home = f"/api/v4/projects/{site.world.project_id}"
    async with site.client(site.root) as client:
        made = (
            await client.post(f"{home}/pipeline", json={"ref": "main", "variables": [{"key": "LEVEL", "value": "3"}]})
        ).json()
        why = (await client.get(f"{home}/pipelines/{made['id']}/why")).json()
        one = (await client.get(f"{home}/jobs/{why['jobs'][0]['id']}/why")).json()
    assert made["name"] == "Of main"
    assert why["pipeline"]["clause"] == "workflow:rules[0]"
    assert {job["name"]: job["why"]["clause"] for job in why["jobs"]} == {"a": "rules[0]", "b": "rules[0]"}
    assert why["jobs"][0]["why"]["tried"][0]["values"] == {"LEVEL": "3"}
    assert "no list of changed files is known" in why["jobs"][1]["why"]["tried"][0]["detail"]
    assert [(job["name"], job["why"]["clause"]) for job in why["absent"]] == [("c", "rules")]
    assert one["why"] == why["jobs"][0]["why"]


VALUES = """
variables: {WRITTEN: "written"}
a:
  script: x
  rules: [{if: '$GIVEN && $SET && $GUARDED && $MASKED && $WRITTEN && $CI_COMMIT_BRANCH'}]
b: {script: x, rules: [{if: '$SET == "no"'}]}
"""
SET = {"SET": {}, "GUARDED": {"protected": True}, "MASKED": {"masked": True}}
FOR_ALL = {"WRITTEN": "written", "CI_COMMIT_BRANCH": "main", "GUARDED": "[masked]", "MASKED": "[masked]"}


@pytest.mark.parametrize(
    ("level", "seen"),
    [
        (20, {"GIVEN": "[hidden]", "SET": "[hidden]", **FOR_ALL}),
        (40, {"GIVEN": "given-value", "SET": "SET-value", **FOR_ALL}),
    ],
    ids=["reporter", "maintainer"],
)
async def test_values_are_for_those_who_may_see_them(site: Site, level: int, seen: dict[str, str]) -> None:
    await site.commit({".gitlab-ci.yml": VALUES})
    home = f"/api/v4/projects/{site.world.project_id}"
    async with site.client(site.root) as client:
        for key, more in SET.items():
            made = await client.post(f"{home}/variables", json={"key": key, "value": f"{key}-value", **more})
            assert made.status_code == 201, made.text
        given = {"ref": "main", "variables": [{"key": "GIVEN", "value": "given-value"}]}
        key = (await client.post(f"{home}/pipeline", json=given)).json()["id"]
    async with site.client(await site.person("eve", level)) as client:
        response = await client.get(f"{home}/pipelines/{key}/why")
        why = response.json()
        one = (await client.get(f"{home}/jobs/{why['jobs'][0]['id']}/why")).json()
    assert why["jobs"][0]["why"]["tried"][0]["values"] == seen
    assert one["why"] == why["jobs"][0]["why"]
    assert why["absent"][0]["why"]["tried"][0]["values"] == {"SET": seen["SET"]}
    assert "private" not in response.text
    stored = await rows_of(site)
    assert "given-value" not in stored
    assert "GUARDED-value" not in stored
    assert "MASKED-value" not in stored


async def rows_of(site: Site) -> str:
    """All that is stored of reasons."""
    async with site.services.database.read() as connection:
        jobs = (await connection.execute(select(table_of(Job).c.why))).scalars().all()
        pipelines = (await connection.execute(select(table_of(Pipeline).c.reasons))).scalars().all()
    return str([*jobs, *pipelines])


async def test_a_pipeline_that_the_rules_do_not_want_is_not_made(site: Site) -> None:
    await site.commit({".gitlab-ci.yml": "a: {script: x, rules: [{if: $CI_COMMIT_TAG}]}\n"})
    async with site.client(site.root) as client:
        response = await client.post(f"/api/v4/projects/{site.world.project_id}/pipeline", json={"ref": "main"})
    assert response.status_code == 400
    assert "The resulting pipeline would have been empty" in response.text


async def test_what_the_engine_cannot_run_yet_is_refused_and_not_dropped(site: Site) -> None:
    await site.commit(
        {".gitlab-ci.yml": "a: {script: x, identity: google_cloud}\nb: {script: y, identity: google_cloud}\n"}
    )
    async with site.client(site.root) as client:
        response = await client.post(f"/api/v4/projects/{site.world.project_id}/pipeline", json={"ref": "main"})
    assert response.status_code == 400
    assert [issue.split(": ", 1)[1] for issue in response.json()["message"]["base"]] == [
        "a job: identity is valid, but this version of Perdure cannot run it yet",
        "b job: identity is valid, but this version of Perdure cannot run it yet",
    ]


async def test_inputs_of_a_pipeline(site: Site) -> None:
    text = "spec: {inputs: {level: {type: number, default: 1}}}\n---\n'a $[[ inputs.level ]]': {script: x}\n"
    await site.commit({".gitlab-ci.yml": text})
    home = f"/api/v4/projects/{site.world.project_id}"
    async with site.client(site.root) as client:
        names = []
        for inputs in ({}, {"level": 2}, {"level": "3"}):
            made = (await client.post(f"{home}/pipeline", json={"ref": "main", "inputs": inputs})).json()
            names += [job["name"] for job in (await client.get(f"{home}/pipelines/{made['id']}/jobs")).json()]
        wrong = await client.post(f"{home}/pipeline", json={"ref": "main", "inputs": {"level": "many"}})
    assert names == ["a 1", "a 2", "a 3"]
    assert "provided value is not a number" in wrong.text


CONTAINERS = """
one: {script: x, image: "ruby:3.3", services: [redis], cache: {paths: [vendor]}}
two: {script: x, image: alpine}
three: {script: x}
four: {script: x, image: alpine}
"""
INFO = {"name": "perdure-runner", "executor": "shell", "features": {"image": False, "services": False, "cache": False}}


async def test_what_the_runner_of_a_job_leaves_out_is_told(site: Site) -> None:
    pipeline_id = await site.world.pipeline(CONTAINERS)
    home = f"/api/v4/projects/{site.world.project_id}"
    docker = {**INFO, "executor": "docker", "features": {"image": True}}
    taken = [await site.world.request(system_id=who, info=info) for who, info in (("", INFO), ("s_docker", docker))]
    taken.append(await site.world.request(system_id="", info=INFO))
    name = f"Runner #{site.world.runner_id} a runner of tests"
    told = [
        f"{name} has no containers: `image` ruby:3.3 is not used.",
        f"{name} has no containers: `services` redis are not started.",
        f"{name} keeps no caches: `cache` is neither restored nor saved.",
    ]
    async with site.client(site.root) as client:
        why = (await client.get(f"{home}/pipelines/{pipeline_id}/why")).json()
        one, two = [(await client.get(f"{home}/jobs/{job.json()['id']}/why")).json() for job in taken[:2]]
        page = (await client.get(f"/{await site.path()}/-/jobs/{one['id']}")).text
    assert {job["name"]: job["left_out"] for job in why["jobs"]} == {"one": told, "two": [], "three": [], "four": []}
    assert (one["left_out"], two["left_out"]) == (told, [])
    assert all(f'<p class="notice">{sentence}</p>' in page for sentence in told)
