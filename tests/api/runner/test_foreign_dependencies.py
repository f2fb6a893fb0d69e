"""`needs:pipeline`, `needs:project`, and dependencies that are not there any more."""

from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import update

from api.runner.payloads import hand_out_document
from application.pipelines.sealed_values import seal_of
from models.repositories.accounts import accounts, members
from models.repositories.artifacts.artifacts import artifact
from models.repositories.logs import traces
from models.repositories.namespaces import namespaces
from models.repositories.pipelines import pipelines
from models.repositories.pipelines.job_rows import job as job_table
from models.repositories.pipelines.pipelines import PipelineRequest
from models.repositories.pipelines.pipelines import pipeline as pipeline_table
from models.repositories.projects import projects
from tests.api.runner.test_artifacts import archive
from tests.api.runner.world import SHA, World
from tests.compiling import plan_of
from tests.git.serving import git, new_work_tree

BUILD = "build: {script: make, artifacts: {paths: [out]}}\n"
OF_PARENT = "use: {script: cat out, retry: 2, needs: [{pipeline: $PARENT_PIPELINE_ID, job: build}]}\n"


async def begin(world: World, config: str, **request: Any) -> int:
    """A pipeline whose first jobs are pending; `request` are fields of the request."""
    known = {"project_id": world.project_id, "user_id": world.user_id, "ref": "main", "sha": SHA, "source": "push"}
    wish = PipelineRequest(**{**known, **request})
    async with world.services.database.write() as connection:
        pipeline_id = await pipelines.create(
            connection, wish, plan_of(config), world.services.clock(), seal=seal_of(world.services.sealer)
        )
    await world.settle(pipeline_id)
    return pipeline_id


async def succeed(world: World, content: bytes = b"", **request: Any) -> tuple[int, int]:
    """A pipeline of `BUILD` that has succeeded, with this archive if any: ids of the pipeline and its job."""
    pipeline_id = await begin(world, BUILD, **request)
    job = await world.job()
    assert job["job_info"]["pipeline_id"] == pipeline_id
    if content:
        assert (await world.upload(job, content)).status_code == 201
    assert (await world.put(job, "success", b"")).status_code == 200
    await world.settle(pipeline_id)
    return pipeline_id, job["id"]


async def child_of(world: World, parent: int, config: str = OF_PARENT) -> int:
    """A child pipeline that is told its parent's id."""
    variables = ({"key": "PARENT_PIPELINE_ID", "value": str(parent)},)
    return await begin(world, config, source="parent_pipeline", upstream_id=parent, variables=variables)


async def other_project(world: World, *, user_id: int | None = None) -> tuple[int, str]:
    """A second private project: id and path."""
    now = world.services.clock()
    async with world.services.database.write() as connection:
        first = await projects.find(connection, world.project_id)
        assert first is not None
        owner = await namespaces.get_by(connection, key=first.organisation_id)
        key = await projects.create_project(connection, owner, "Lib", "Lib", user_id or world.user_id, now)
    return key, f"{owner.path}/Lib"


async def log_of(world: World, job_id: int) -> str:
    async with world.services.database.read() as connection:
        head = await traces.head(connection, job_id)
        return (await traces.read(connection, job_id, head.generation, 0, head.size)).decode()


async def failed(world: World, pipeline_id: int) -> str:
    """Nothing is handed out, and the one job of the pipeline has failed for good: its log."""
    assert (await world.request()).status_code == 204
    (row,) = await rows_of(world, pipeline_id)
    assert (row.status, row.failure_reason) == ("failed", "missing_dependency_failure")
    await world.settle(pipeline_id)
    assert len(await rows_of(world, pipeline_id)) == 1, "it was retried"
    return await log_of(world, row.id)


async def rows_of(world: World, pipeline_id: int) -> Any:
    statement = job_table.select().where(job_table.c.pipeline_id == pipeline_id).order_by(job_table.c.id)
    async with world.services.database.read() as connection:
        return (await connection.execute(statement)).all()


async def fetched(world: World, job_id: int, token: str) -> Any:
    return await world.client.get(f"/api/v4/jobs/{job_id}/artifacts", headers={"JOB-TOKEN": token})


async def test_a_child_gets_the_artifacts_of_its_parents_job_by_a_token_for_nothing_else(world: World) -> None:
    content = archive(out="42")
    parent, build = await succeed(world, content)
    _, other = await succeed(world, archive(out="43"))
    await child_of(world, parent)
    job = await world.job()
    (dependency,) = job["dependencies"]
    assert (dependency["id"], dependency["name"]) == (build, "build")
    assert dependency["artifacts_file"] == {"filename": "artifacts.zip", "size": len(content)}
    response = await fetched(world, build, dependency["token"])
    assert (response.status_code, response.content) == (200, content)
    assert (await fetched(world, other, dependency["token"])).status_code == 403
    assert (await fetched(world, build, job["token"])).status_code == 403, "the job's own token is for its pipeline"
    assert (await world.put({**job, "token": dependency["token"]}, "success", b"")).status_code == 403
    assert (await world.put(job, "success", b"")).status_code == 200
    assert (await fetched(world, build, dependency["token"])).status_code == 403, "the job has ended"


@pytest.mark.parametrize("kinds", [["heads"], ["tags"], ["heads", "tags"]])
async def test_a_need_of_a_tags_job_takes_nothing_of_a_branch_of_that_name(world: World, kinds: list[str]) -> None:
    of_tag, of_branch = archive(out="tag"), archive(out="branch")
    _, tagged = await succeed(world, of_tag, ref="v1", tag=True)
    _, branch = await succeed(world, of_branch, ref="v1")
    repository = await world.services.repositories.create(world.project_id, "main")
    tree = world.services.settings.home / "tree"
    await new_work_tree(tree, {"a": "a"})
    await git("push", "-q", repository.path, *(f"main:refs/{kind}/v1" for kind in kinds), cwd=tree)
    path = await path_of(world)
    pipeline_id = await begin(world, f"use: {{script: x, needs: [{{project: {path}, job: build, ref: v1}}]}}\n")
    if len(kinds) == 2:
        assert "`v1` is the name of a branch and of a tag" in await failed(world, pipeline_id)
        return
    (dependency,) = (await world.job())["dependencies"]
    assert dependency["id"] == (tagged if kinds == ["tags"] else branch)


async def path_of(world: World) -> str:
    """The full path of the project."""
    async with world.services.database.read() as connection:
        row = await projects.find(connection, world.project_id)
    assert row is not None
    return row.full_path


async def test_the_whole_family_of_pipelines_may_be_asked(world: World) -> None:
    parent, _ = await succeed(world, archive(out="0"))
    sibling, build = await succeed(world, archive(out="1"), source="parent_pipeline", upstream_id=parent)
    child = await child_of(world, parent, "other: {script: x}\n")
    await world.put(await world.job(), "success", b"")
    variables = ({"key": "PARENT_PIPELINE_ID", "value": str(sibling)},)
    await begin(world, OF_PARENT, source="parent_pipeline", upstream_id=child, variables=variables)
    assert [found["id"] for found in (await world.job())["dependencies"]] == [build]


@pytest.mark.parametrize("named", ["stranger", "downstream", "itself", "nobody", "words", "huge"])
async def test_what_is_not_of_the_family_fails_the_job_alone(world: World, named: str) -> None:
    parent, _ = await succeed(world, archive(out="1"))
    stranger, _ = await succeed(world, archive(out="2"))
    downstream, _ = await succeed(world, archive(out="3"), source="pipeline", upstream_id=parent)
    wrong = {"stranger": stranger, "downstream": downstream, "itself": "$CI_PIPELINE_ID", "nobody": 99_999}
    value = str({**wrong, "words": "main", "huge": "9" * 30}[named])
    variables = ({"key": "PARENT_PIPELINE_ID", "value": value},)
    poison = await begin(world, OF_PARENT, source="parent_pipeline", upstream_id=parent, variables=variables)
    await begin(world, "fine: {script: x}\n")
    assert (await world.job())["job_info"]["name"] == "fine", "the next job of the queue"
    log = await failed(world, poison)
    assert "This job cannot run: job build of pipeline " in log
    assert "successful job of another pipeline of the same family of parent and child pipelines." in log


async def test_a_job_that_did_not_succeed_is_missing(world: World) -> None:
    parent = await begin(world, BUILD)
    build = await world.job()
    await world.upload(build, archive(out="42"))
    child = await child_of(world, parent)
    assert "job build of pipeline" in await failed(world, child)


async def test_artifacts_come_from_the_latest_success_of_another_projects_ref(world: World) -> None:
    lib, path = await other_project(world)
    await succeed(world, archive(out="old"), project_id=lib, ref="stable")
    content = archive(out="new")
    _, build = await succeed(world, content, project_id=lib, ref="stable")
    await succeed(world, archive(out="other ref"), project_id=lib, ref="main")
    await succeed(world, archive(out="child"), project_id=lib, ref="stable", source="parent_pipeline")
    broken = await begin(world, BUILD, project_id=lib, ref="stable")
    await world.put(await world.job(), "failed", b"")
    await world.settle(broken)
    needs = f"{{project: {path.upper()}, ref: $LIB_REF, job: build}}"
    await begin(world, f"use: {{script: x, variables: {{LIB_REF: stable}}, needs: [{needs}]}}\n")
    job = await world.job()
    (dependency,) = job["dependencies"]
    assert dependency["id"] == build
    assert (await fetched(world, build, dependency["token"])).content == content


async def test_a_project_that_the_user_cannot_read_looks_like_none(world: World) -> None:
    async with world.services.database.write() as connection:
        now = world.services.clock()
        stranger = await accounts.create_user(connection, "stranger", "Stranger", "s@example.com", now)
        await members.add_to_project(connection, world.project_id, stranger, 30)
    lib, path = await other_project(world)
    await succeed(world, archive(out="secret"), project_id=lib)
    logs = []
    for project in (path, f"{path}-none"):
        config = f"use: {{script: x, needs: [{{project: {project}, ref: main, job: build}}]}}\n"
        pipeline_id = await begin(world, config, user_id=stranger)
        logs.append((await failed(world, pipeline_id)).replace(project, "PATH"))
    assert logs[0] == logs[1]
    assert "job build of project PATH, ref main was not found: the project must exist and be readable" in logs[0]


@pytest.mark.parametrize(("field", "value"), [("optional", True), ("artifacts", False)])
async def test_optional_needs_and_those_without_artifacts_are_left_out(world: World, field: str, value: bool) -> None:
    await begin(world, "use: {script: x, needs: [{project: no/where, ref: main, job: build}]}\n")
    need = {"job": "build", "artifacts": True, "optional": False, "pipeline": "", "project": "no/where", "ref": "main"}
    plan = {"script": ["x"], "allow_failure": False, "needs": [], "foreign_needs": [{**need, field: value}]}
    async with world.services.database.write() as connection:
        await connection.execute(update(job_table).values(plan=plan))
    assert (await world.job())["dependencies"] == []


async def test_a_job_that_announced_artifacts_and_has_none_is_missing(world: World) -> None:
    parent, _ = await succeed(world)
    child = await child_of(world, parent)
    assert f"job build of pipeline {parent} has no artifacts: its runner uploaded none." in await failed(world, child)


async def test_a_job_that_announced_no_artifacts_is_needed_for_nothing(world: World) -> None:
    parent, build = await succeed(world)
    async with world.services.database.write() as connection:
        await connection.execute(
            update(job_table).where(job_table.c.id == build).values(plan={"script": ["x"], "allow_failure": False})
        )
    await child_of(world, parent)
    assert (await world.job())["dependencies"] == []


async def test_expired_artifacts_are_missing_once_the_ref_has_a_newer_success(world: World) -> None:
    two = BUILD + "check: {stage: deploy, script: x}\n"
    first, second = await begin(world, two), await begin(world, two)
    for pipeline_id in (first, second):
        job = await world.job()
        assert (job["job_info"]["pipeline_id"], job["job_info"]["name"]) == (pipeline_id, "build")
        await world.upload(job, archive(out="42"))
        await world.put(job, "success", b"")
    async with world.services.database.write() as connection:
        past = world.services.clock() - timedelta(hours=1)
        await connection.execute(update(artifact).values(expire_at=past))
    await world.settle(second)
    assert len((await world.job())["dependencies"]) == 1, "the latest artifacts of a ref are kept"
    async with world.services.database.write() as connection:
        newer = update(pipeline_table).where(pipeline_table.c.id == second)
        await connection.execute(newer.values(status="success"))
    await world.settle(first)
    assert (await world.request()).status_code == 204
    check = (await rows_of(world, first))[1]
    assert (check.status, check.failure_reason) == ("failed", "missing_dependency_failure")
    assert "the artifacts of job build have expired; run that job again." in await log_of(world, check.id)


async def test_a_job_without_such_needs_asks_nothing(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    async def asked(*_: Any) -> None:
        raise AssertionError("a query for nothing")

    monkeypatch.setattr(hand_out_document, "foreign_dependencies", asked)
    await world.pipeline()
    assert (await world.job())["job_info"]["name"] == "build"
