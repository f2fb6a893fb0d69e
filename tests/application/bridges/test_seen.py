"""What people and runners see of bridges: the API, the pages, the variables of jobs downstream."""

import io
import re
import zipfile

import pytest

from domain.pipelines.status import Status
from tests.application.bridges.installation import Installation
from tests.application.bridges.test_loop import files, trigger
from tests.models.world import job, pipeline


async def test_bridges_are_listed_apart_with_their_pipelines(here: Installation) -> None:
    config = """
        build: {stage: build, script: make}
        go: {stage: build, trigger: {include: child.yml, strategy: depend}}
    """
    parent = await here.begin(files(config))
    child = await here.downstream(parent, "go")
    base = f"/api/v4/projects/{here.world.project_id}"
    async with here.site.client(here.site.root) as client:
        bridges = (await client.get(f"{base}/pipelines/{parent}/bridges")).json()
        none = (await client.get(f"{base}/pipelines/{parent}/bridges?scope[]=failed")).json()
        jobs = (await client.get(f"{base}/pipelines/{parent}/jobs")).json()
        everywhere = (await client.get(f"{base}/jobs")).json()
        shown = (await client.get(f"{base}/pipelines/{child.id}")).json()
        listed = (await client.get(f"{base}/pipelines")).json()
        children = (await client.get(f"{base}/pipelines?source=parent_pipeline")).json()
        latest = (await client.get(f"{base}/pipelines/latest")).json()
    (bridge,) = bridges
    assert (bridge["name"], bridge["status"], none) == ("go", "running", [])
    assert bridge["pipeline"]["id"] == parent
    assert bridge["downstream_pipeline"]["id"] == child.id
    assert bridge["downstream_pipeline"]["status"] == "pending"
    assert bridge["downstream_pipeline"]["web_url"].endswith(f"/-/pipelines/{child.id}")
    assert "runner" not in bridge
    assert [item["name"] for item in jobs] == ["build"]
    assert {item["name"] for item in everywhere} == {"build", "inner"}
    assert shown["source"] == "parent_pipeline"
    assert [item["id"] for item in listed] == [latest["id"]] == [parent]
    assert [item["id"] for item in children] == [child.id]


async def test_who_may_not_see_the_other_project_learns_nothing_of_it(here: Installation) -> None:
    other = await here.project("other", {".gitlab-ci.yml": "build: {script: make}\n"})
    path = await here.path(other)
    parent = await here.begin(files(f"go: {{trigger: {path}}}"))
    made = (await here.downstream(parent, "go")).id
    reader = await here.site.person("grace", 20)
    own = await here.path(here.world.project_id)
    addresses = (
        f"/api/v4/projects/{here.world.project_id}/pipelines/{parent}/bridges",
        f"/{own}/-/pipelines/{parent}",
        f"/{own}/-/jobs/{(await here.named(parent, 'go')).id}",
    )
    for person, sees in ((here.site.root, True), (reader, False)):
        async with here.site.client(person) as client:
            texts = [(await client.get(address)).text for address in addresses]
        assert [f"/{path}/-/pipelines/{made}" in text for text in texts] == [sees] * 3


async def test_the_pages_lead_down_and_up(here: Installation) -> None:
    parent = await here.begin(files(trigger()))
    child = (await here.downstream(parent, "go")).id
    own = await here.path(here.world.project_id)
    async with here.site.client(here.site.root) as client:
        above = (await client.get(f"/{own}/-/pipelines/{parent}")).text
        below = (await client.get(f"/{own}/-/pipelines/{child}")).text
    assert re.search(rf'<h2>Downstream</h2>.*{own} <a href="/{own}/-/pipelines/{child}"', above, re.DOTALL)
    assert re.search(rf'child of\s+{own} <a href="/{own}/-/pipelines/{parent}"', below)


async def test_jobs_downstream_know_where_they_come_from(here: Installation) -> None:
    config = """
        variables: {PRICE: {value: "$5", expand: false}, LEVEL: "3"}
        go: {trigger: {include: child.yml}}
    """
    child = """
        inner:
          script: make
          variables: {LEVEL: "1", SEEN: "$LEVEL in $CI_PIPELINE_SOURCE"}
          rules: [{if: $LEVEL == "3" && $CI_UPSTREAM_PIPELINE_ID}]
    """
    parent = await here.begin(files(config, {"child.yml": child}))
    handed = await here.site.world.job()
    variables = {item["key"]: item["value"] for item in handed["variables"]}
    assert variables["SEEN"] == "3 in parent_pipeline"
    assert variables["PRICE"] == "$5"
    assert variables["CI_UPSTREAM_PIPELINE_ID"] == str(parent)
    assert variables["CI_UPSTREAM_JOB_ID"] == str((await here.named(parent, "go")).id)
    assert variables["CI_UPSTREAM_PROJECT_ID"] == str(here.world.project_id)


async def test_a_child_whose_configuration_a_job_has_made(here: Installation) -> None:
    config = """
        stages: [build, deploy]
        build: {stage: build, script: make, artifacts: {paths: [made.yml]}}
        go: {stage: deploy, trigger: {include: [{artifact: made.yml, job: build}], strategy: depend}}
    """
    parent = await here.begin(files(config, {}))
    build = await here.site.world.job()
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("made.yml", "inner: {script: make}\n")
    response = await here.site.world.upload(build, packed.getvalue(), artifact_type="archive", artifact_format="zip")
    assert response.status_code == 201
    await here.world.end(build["id"])
    await here.carry_out()
    assert await here.world.statuses((await here.downstream(parent, "go")).id) == {"inner": "pending"}
    await here.run("inner")
    assert await here.world.status(parent) == "success"


async def test_a_bridge_that_follows_another_projects_latest_pipeline(here: Installation) -> None:
    other = await here.project("other", {".gitlab-ci.yml": "build: {script: make}\n"})
    path = await here.path(other)
    async with here.site.client(here.site.root) as client:
        made = (await client.post(f"/api/v4/projects/{other}/pipeline", json={"ref": "main"})).json()["id"]
    parent = await here.begin(files(f"watch: {{needs: {{pipeline: {path}}}}}"))
    bridge = await here.named(parent, "watch")
    assert (bridge.downstream_id, bridge.status) == (made, "running")
    await here.ask(parent, "cancel_pipeline")
    assert await here.world.status(made) == "pending"
    again = await here.begin_again(parent)
    await here.run("build", Status.FAILED)
    watch = await here.named(again, "watch")
    assert (watch.status, watch.downstream_id) == ("failed", made)
    assert {row.bridge_id for row in await here.world.rows(pipeline)} == {None}


async def test_a_pipeline_that_has_ended_already_is_taken_over_at_once(here: Installation) -> None:
    other = await here.project("other", {".gitlab-ci.yml": "build: {script: make}\n"})
    async with here.site.client(here.site.root) as client:
        await client.post(f"/api/v4/projects/{other}/pipeline", json={"ref": "main"})
    await here.carry_out()
    await here.run("build")
    parent = await here.begin(files(f"watch: {{needs: {{pipeline: {await here.path(other)}}}}}"))
    assert await here.world.status(parent) == "success"


async def test_what_cannot_be_followed(here: Installation) -> None:
    other = await here.project("other", {".gitlab-ci.yml": "build: {script: make}\n"})
    path = await here.path(other)
    person = await here.site.person("grace", 30)
    parent = await here.begin(files(f"watch: {{needs: {{pipeline: {path}}}}}"), user_id=person.id)
    assert (await here.named(parent, "watch")).failure_reason == "downstream_bridge_project_not_found"
    again = await here.begin_again(parent, user_id=here.world.user_id)
    assert (await here.named(again, "watch")).failure_reason == "invalid_bridge_trigger"


async def test_cancel_of_a_pipeline_reaches_children_whose_bridge_has_ended(here: Installation) -> None:
    config = """
        wait: {script: make}
        go: {stage: test, trigger: {include: child.yml}}
    """
    parent = await here.begin(files(config))
    child = (await here.downstream(parent, "go")).id
    assert (await here.named(parent, "go")).status == "success"
    await here.ask(parent, "cancel_job", (await here.named(parent, "wait")).id)
    assert await here.world.status(child) == "pending"
    await here.ask(parent, "retry_pipeline")
    await here.ask(parent, "cancel_pipeline")
    assert await here.world.status(child) == "canceled"
    assert (await here.world.row(job, pipeline_id=child)).status == "canceled"


@pytest.mark.parametrize("strategy", ["", ", strategy: depend"])
async def test_cancel_of_a_pipeline_reaches_what_is_below_a_child_that_has_ended(
    here: Installation, strategy: str
) -> None:
    config = f"""
        wait: {{script: make}}
        go: {{trigger: {{include: child.yml{strategy}}}}}
    """
    more = {"child.yml": "go: {trigger: {include: two.yml}}", "two.yml": "inner: {script: make}"}
    parent = await here.begin(files(config, more))
    between = (await here.downstream(parent, "go")).id
    below = (await here.downstream(between, "go")).id
    assert [await here.world.status(one) for one in (parent, between, below)] == ["running", "success", "pending"]
    await here.ask(parent, "cancel_pipeline")
    assert [await here.world.status(one) for one in (parent, between, below)] == ["canceled", "success", "canceled"]
