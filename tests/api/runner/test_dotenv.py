"""Variables that a job reports (`artifacts:reports:dotenv`) reach those that need them, and no others.

Source: docs/reference/ci-yaml.md, "Variables".
"""

import gzip
from typing import Any

import pytest

from application.bridges.scope import scope_of
from domain.pipelines.bridges import forwarded
from models.repositories.artifacts.reports import report
from models.repositories.pipelines import bridges
from models.repositories.pipelines.job_rows import job
from tests.api.runner.test_foreign_dependencies import OF_PARENT, begin, child_of, other_project
from tests.api.runner.world import World

BUILD = "build: {stage: build, script: x, artifacts: {reports: {dotenv: build.env}}}\n"


async def hand_in(world: World, job: dict[str, Any], *texts: str) -> Any:
    """Upload dotenv files."""
    content = b"".join(gzip.compress(text.encode()) for text in texts)
    return await world.upload(job, content, artifact_type="dotenv", artifact_format="gzip")


async def after_build(world: World, config: str, text: str, **request: Any) -> dict[str, Any]:
    """The variables of the second job, after the first one reported `text`."""
    pipeline_id = await world.pipeline(BUILD + config, **request)
    build = await world.job()
    response = await hand_in(world, build, text)
    assert response.status_code == 201, response.text
    await world.put(build, "success", b"")
    await world.settle(pipeline_id)
    return {item["key"]: item for item in (await world.job())["variables"]}


@pytest.mark.parametrize(
    ("test", "reaches"),
    [
        ("test: {stage: test, script: x}\n", True),
        ("test: {stage: test, script: x, dependencies: [build]}\n", True),
        ("test: {stage: test, script: x, dependencies: []}\n", False),
        ("test: {stage: test, script: x, needs: [build]}\n", True),
        ("test: {stage: test, script: x, needs: [{job: build, artifacts: false}]}\n", False),
        ("test: {stage: test, script: x, needs: []}\n", False),
    ],
)
async def test_they_go_where_artifacts_go(world: World, test: str, reaches: bool) -> None:
    variables = await after_build(world, test, "BUILD_URL=https://x.example/1\n")
    assert ("BUILD_URL" in variables) == reaches
    if reaches:
        found = variables["BUILD_URL"]
        assert (found["value"], found["public"], found["masked"]) == ("https://x.example/1", False, False)


async def test_they_win_over_the_configuration_and_lose_against_the_pipeline(world: World) -> None:
    config = (
        "variables: {A: yaml, B: yaml, C: yaml}\ntest: {stage: test, script: x, variables: {A: job, D: 'got $A'}}\n"
    )
    variables = await after_build(
        world, config, "A=dotenv\nB=dotenv\nE=$CI_JOB_NAME\n", variables=({"key": "B", "value": "asked"},)
    )
    assert {key: variables[key]["value"] for key in "ABCDE"} == {
        "A": "dotenv",
        "B": "asked",
        "C": "yaml",
        "D": "got dotenv",
        "E": "test",
    }


async def test_the_later_job_wins_over_the_earlier_one(world: World) -> None:
    config = (
        "stages: [one, two, three]\n"
        "first: {stage: one, script: x}\nsecond: {stage: two, script: x}\nlast: {stage: three, script: x}\n"
    )
    pipeline_id = await world.pipeline(config)
    for value in ("first", "second"):
        job = await world.job()
        await hand_in(world, job, f"WHO={value}\n{value.upper()}=1")
        await world.put(job, "success", b"")
        await world.settle(pipeline_id)
    variables = {item["key"]: item["value"] for item in (await world.job())["variables"]}
    assert (variables["WHO"], variables["FIRST"], variables["SECOND"]) == ("second", "1", "1")


async def test_only_the_latest_attempt_counts(world: World) -> None:
    pipeline_id = await world.pipeline(
        BUILD + "retried: {stage: build, script: x, retry: 1}\nt: {stage: test, script: x}\n"
    )
    for _ in range(2):
        job = await world.job()
        is_build = job["job_info"]["name"] == "build"
        await hand_in(world, job, "A=1" if is_build else "B=old")
        await world.put(job, "success" if is_build else "failed", b"", failure_reason="script_failure")
        await world.settle(pipeline_id)
    await world.settle(pipeline_id)  # the new attempt is offered
    again = await world.job()
    assert again["job_info"]["name"] == "retried"
    await world.put(again, "success", b"")
    await world.settle(pipeline_id)
    variables = {item["key"] for item in (await world.job())["variables"]}
    assert "A" in variables
    assert "B" not in variables


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("A B\n", "Invalid Format"),
        ("A=" + "x" * 6_000, "Dotenv Artifact Too Big. Maximum Allowable Size: 5120"),
        ("".join(f"K{number}=1\n" for number in range(21)), "more than 20 variables"),
    ],
)
async def test_a_wrong_file_is_refused_and_leaves_nothing(world: World, text: str, message: str) -> None:
    await world.pipeline(BUILD)
    job = await world.job()
    response = await hand_in(world, job, text)
    assert response.status_code == 400
    assert message in response.json()["message"]
    async with world.services.database.read() as connection:
        assert (await connection.execute(report.select())).all() == []
    assert (await hand_in(world, job, "A=1")).status_code == 201


async def test_a_bridge_hands_them_down_by_its_own_variables(world: World) -> None:
    config = BUILD + "down: {stage: test, trigger: {include: child.yml}, variables: {UP: 'at $BUILD_URL'}}\n"
    pipeline_id = await world.pipeline(config)
    build = await world.job()
    await hand_in(world, build, "BUILD_URL=https://x.example/1")
    await world.put(build, "success", b"")
    await world.settle(pipeline_id)
    async with world.services.database.read() as connection:
        down = next(row.id for row in await rows(connection) if row.name == "down")
        bridge = await bridges.read(connection, down)
    handed = {item.key: item.value for item in forwarded(scope_of(world.services, bridge))}
    assert handed == {"UP": "at https://x.example/1"}


async def reported(world: World, text: str, **request: Any) -> int:
    """A pipeline that has succeeded, whose job `build` reported `text`: its id."""
    pipeline_id = await begin(world, BUILD, **request)
    build = await world.job()
    assert (await hand_in(world, build, text)).status_code == 201
    await world.put(build, "success", b"")
    await world.settle(pipeline_id)
    return pipeline_id


async def values_of(world: World) -> dict[str, str]:
    """The variables of the next job."""
    return {item["key"]: item["value"] for item in (await world.job())["variables"]}


async def test_they_travel_to_a_child_that_needs_the_job_of_its_parent(world: World) -> None:
    parent = await reported(world, "A=parent")
    await reported(world, "B=stranger")
    await child_of(world, parent, OF_PARENT.replace("use: {", "use: {variables: {C: 'got $A'}, "))
    variables = await values_of(world)
    assert (variables["A"], variables["C"], "B" in variables) == ("parent", "got parent", False)


@pytest.mark.parametrize(("artifacts", "reaches"), [("true", True), ("false", False)])
async def test_they_travel_between_projects_with_the_artifacts(world: World, artifacts: str, reaches: bool) -> None:
    lib, path = await other_project(world)
    await reported(world, "A=lib", project_id=lib)
    await begin(world, f"use: {{script: x, needs: [{need_of(path, artifacts)}]}}\n")
    assert (await values_of(world)).get("A") == ("lib" if reaches else None)


async def test_those_of_the_own_pipeline_win_over_those_from_elsewhere(world: World) -> None:
    lib, path = await other_project(world)
    await reported(world, "A=lib\nB=lib", project_id=lib)
    use = f"use: {{stage: test, script: x, needs: [build, {need_of(path)}]}}\n"
    variables = await after_build(world, use, "A=own\n")
    assert (variables["A"]["value"], variables["B"]["value"]) == ("own", "lib")


def need_of(path: str, artifacts: str = "true") -> str:
    """A need of the job `build` of a project."""
    return f"{{project: {path}, ref: main, job: build, artifacts: {artifacts}}}"


async def rows(connection: Any) -> Any:
    """All jobs."""
    return (await connection.execute(job.select())).all()
