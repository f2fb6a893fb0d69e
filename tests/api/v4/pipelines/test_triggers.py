"""Trigger tokens and job tokens start pipelines of their owners, and of nobody else."""

import asyncio
from pathlib import Path
from typing import Any

import gitlab
import httpx
import orjson
import pytest

from application.pipelines.sealed_values import opened_variables
from auth.secret_token import digest
from models.repositories.accounts import accounts, members
from models.repositories.pipelines import pipelines
from models.repositories.pipelines.job_rows import job as job_table
from models.repositories.projects import projects, triggers
from settings import RefusalLimits
from tests.api.v4.site import Person, Site, open_site, serving
from tests.git.serving import git, new_commit
from tests.waiting import HANGS, eventually

NO_NAME = "is invalid: 'A-B' is no name; use letters, digits and '_', 255 at most"
CONFIG = """
workflow:
  rules: [{if: $CI_PIPELINE_SOURCE != "push"}]
build:
  script: make
  rules:
    - if: $CI_PIPELINE_TRIGGERED == "true" && $CI_TRIGGER_SHORT_TOKEN
    - if: $CI_PIPELINE_SOURCE == "pipeline"
"""
MAINTAINER, DEVELOPER = 40, 30


def address(site: Site, rest: str = "") -> str:
    return f"/api/v4/projects/{site.world.project_id}{rest}"


async def made(site: Site, person: Person | None = None, **more: Any) -> dict[str, Any]:
    async with site.client(person or site.root) as client:
        response = await client.post(address(site, "/triggers"), json={"description": "nightly", **more})
    assert response.status_code == 201, response.text
    document: dict[str, Any] = response.json()
    return document


async def pipeline_row(site: Site, pipeline_id: int) -> Any:
    async with site.services.database.read() as connection:
        return await pipelines.get(connection, pipeline_id)


async def variables_of(site: Site, pipeline_id: int) -> dict[str, dict[str, Any]]:
    """What the runner of a pipeline's only job is told."""
    await site.world.settle(pipeline_id)
    job = await site.world.job()
    assert job["job_info"]["pipeline_id"] == pipeline_id
    return {item["key"]: item for item in job["variables"]} | {"job": job}


async def test_a_trigger_starts_a_pipeline_of_its_owner_with_all_that_jobs_are_told(site: Site) -> None:
    sha = await site.commit({".gitlab-ci.yml": CONFIG})
    owner = await site.person("owner", MAINTAINER)
    token = (await made(site, owner))["token"]
    async with site.client() as stranger:
        body = {"token": token, "ref": "main", "variables": {"LEVEL": "3"}}
        response = await stranger.post(address(site, "/trigger/pipeline"), json=body)
    assert response.status_code == 201, response.text
    pipeline = response.json()
    assert (pipeline["source"], pipeline["ref"], pipeline["tag"], pipeline["sha"]) == ("trigger", "main", False, sha)
    assert (pipeline["user"]["username"], pipeline["config_source"]) == ("owner", "repository_source")
    told = await variables_of(site, pipeline["id"])
    expected = {
        "CI_PIPELINE_SOURCE": "trigger",
        "CI_PIPELINE_TRIGGERED": "true",
        "CI_TRIGGER_SHORT_TOKEN": token.removeprefix("glptt-")[:4],
        "CI_COMMIT_BRANCH": "main",
        "CI_COMMIT_SHA": sha,
        "GITLAB_USER_LOGIN": "owner",
        "LEVEL": "3",
    }
    assert {key: told[key]["value"] for key in expected} == expected
    assert "CI_UPSTREAM_PIPELINE_ID" not in told
    payload = told["TRIGGER_PAYLOAD"]
    assert payload["file"]
    assert orjson.loads(payload["value"]) == {"ref": "main", "variables": {"LEVEL": "3"}}
    async with site.client(owner) as client:
        assert (await client.get(address(site, "/triggers"))).json()[0]["last_used"] is not None


async def test_a_token_is_shown_once_and_kept_as_its_hash(site: Site) -> None:
    created = await made(site)
    token = created["token"]
    assert token.startswith("glptt-")
    async with site.client(site.root) as client:
        (listed,) = (await client.get(address(site, "/triggers"))).json()
        one = (await client.get(address(site, f"/triggers/{created['id']}"))).json()
        changed = (await client.put(address(site, f"/triggers/{created['id']}"), json={"description": "x"})).json()
        removed = await client.delete(address(site, f"/triggers/{created['id']}"))
        gone = await client.get(address(site, f"/triggers/{created['id']}"))
        late = await client.post(address(site, "/trigger/pipeline"), json={"token": token, "ref": "main"})
        events = (await client.get(address(site, "/audit_events"))).json()
    short = token.removeprefix("glptt-")[:4]
    assert listed == one == {**created, "token": short}
    assert (created["owner"]["username"], created["last_used"], created["expires_at"]) == ("root", None, None)
    assert (changed["description"], changed["token"]) == ("x", short)
    assert (removed.status_code, gone.status_code, late.status_code) == (204, 404, 404)
    assert gone.json() == {"message": "404 Trigger Not Found"}
    assert [event["event_name"] for event in events[:3]] == ["trigger_removed", "trigger_changed", "trigger_created"]
    assert token not in str(events)


async def test_a_form_and_the_address_of_a_webhook_do_as_well(site: Site) -> None:
    await site.commit({".gitlab-ci.yml": CONFIG})
    token = (await made(site))["token"]
    tree = site.folder / "tree"
    await git("push", "-q", site.services.repositories.path(site.world.project_id), "main:refs/heads/a/b", cwd=tree)
    async with site.client() as client:
        form = {"token": token, "ref": "refs/heads/main", "variables[A]": "1", "variables[B]": "x y"}
        by_form = await client.post(address(site, "/trigger/pipeline"), data=form)
        hook = {"ref": "refs/heads/elsewhere", "commits": [{"id": "1"}], "object_kind": "push"}
        by_hook = await client.post(address(site, f"/ref/a%2Fb/trigger/pipeline?token={token}"), json=hook)
        query = f"/ref/main/trigger/pipeline?token={token}&variables[A]=7"
        by_query = await client.post(address(site, query))
        of_pipelines = await client.post(
            address(site, f"/ref/main/trigger/pipeline?token={token}"),
            json=hook,
            headers={"X-Gitlab-Event": "Pipeline Hook"},
        )
    assert by_form.status_code == by_hook.status_code == by_query.status_code == 201
    assert of_pipelines.status_code == 403
    rows = [await pipeline_row(site, response.json()["id"]) for response in (by_form, by_hook, by_query)]
    assert [row.ref for row in rows] == ["main", "a/b", "main"]
    given = [opened_variables(site.services.sealer, row.variables) for row in rows]
    found = [{item["key"]: item["value"] for item in variables} for variables in given]
    assert [(one.get("A"), one.get("B")) for one in found] == [("1", "x y"), (None, None), ("7", None)]
    assert orjson.loads(found[1]["TRIGGER_PAYLOAD"]) == hook
    assert token not in str(found)


@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        ({"ref": "nowhere"}, 400, {"base": ["Reference not found"]}),
        ({"ref": "main", "variables": ["A"]}, 400, "variables is invalid"),
        ({"ref": "main", "variables": {"A": 1}}, 400, "variables needs to be a map of key-valued strings"),
        ({"ref": "main", "variables": {"A-B": "1"}}, 400, {"variables": [NO_NAME]}),
        ({}, 400, "ref is missing"),
        ({"ref": "main", "token": "glptt-wrong"}, 404, "404 Not Found"),
        ({"ref": "main", "token": ""}, 400, "token is missing"),
        ({"ref": "broken"}, 400, "jobs:a"),
    ],
)
async def test_what_is_wrong_is_told_and_makes_nothing(
    site: Site, body: dict[str, Any], status: int, words: Any
) -> None:
    await site.commit({".gitlab-ci.yml": CONFIG})
    tree = site.folder / "tree"
    await new_commit(tree, {".gitlab-ci.yml": "a: {stage: nowhere, script: x}\nb: {script: [], needs: [z]}\n"})
    await git("push", "-q", site.services.repositories.path(site.world.project_id), "main:broken", cwd=tree)
    token = (await made(site))["token"]
    async with site.client() as client:
        response = await client.post(address(site, "/trigger/pipeline"), json={"token": token, **body})
        elsewhere = await client.post("/api/v4/projects/9999/trigger/pipeline", json={"token": token, "ref": "main"})
    async with site.client(site.root) as client:
        assert (await client.get(address(site, "/pipelines"))).json() == []
    assert (elsewhere.status_code, elsewhere.json()) == (404, {"message": "404 Not Found"})
    assert response.status_code == status, response.text
    message = response.json()["message"]
    if words == "jobs:a":
        assert len(message["base"]) >= 2
    elif isinstance(words, dict):
        assert message == words
    else:
        assert words in message


async def test_the_owner_must_still_be_allowed(site: Site) -> None:
    await site.commit({".gitlab-ci.yml": CONFIG})
    owner = await site.person("owner", MAINTAINER)
    token = (await made(site, owner))["token"]
    database = site.services.database
    call = {"token": token, "ref": "main"}

    async def answer() -> tuple[int, Any]:
        async with site.client() as client:
            found = await client.post(address(site, "/trigger/pipeline"), json=call)
            return found.status_code, found.json()["message"] if found.status_code != 201 else ""

    async def level(number: int) -> None:
        async with database.write() as connection:
            await members.remove_from_project(connection, site.world.project_id, owner.id)
            if number:
                await members.add_to_project(connection, site.world.project_id, owner.id, number)

    assert await answer() == (201, "")
    await level(DEVELOPER)  # main is protected for maintainers
    status, message = await answer()
    assert (status, "sufficient permission to run a pipeline on 'main'" in message["base"][0]) == (400, True)
    await level(20)
    assert await answer() == (400, {"base": ["Insufficient permissions to create a new pipeline"]})
    await level(0)
    assert await answer() == (404, "404 Not Found")
    await level(MAINTAINER)
    async with database.write() as connection:
        await connection.execute(accounts.user.update().where(accounts.user.c.id == owner.id).values(state="blocked"))
    assert await answer() == (404, "404 Not Found")


async def test_a_token_is_good_until_its_end_and_for_its_own_project(site: Site) -> None:
    await site.commit({".gitlab-ci.yml": CONFIG})
    created = await made(site, expires_at="2999-01-01T00:00:00Z")
    assert created["expires_at"] == "2999-01-01T00:00:00.000Z"
    call = {"token": created["token"], "ref": "main"}
    now = site.services.clock()
    async with site.client(site.root) as client:
        late = await client.post(address(site, "/triggers"), json={"description": "x", "expires_at": "2001-01-01"})
        other = (await client.post("/api/v4/projects", json={"name": "other"})).json()["id"]
        foreign = await client.post(f"/api/v4/projects/{other}/trigger/pipeline", json=call)
        good = await client.post(address(site, "/trigger/pipeline"), json=call)
        async with site.services.database.write() as connection:
            rule = triggers.trigger.c.token_hash == digest(created["token"])
            await connection.execute(triggers.trigger.update().where(rule).values(expires_at=now))
        expired = await client.post(address(site, "/trigger/pipeline"), json=call)
    assert [response.status_code for response in (late, foreign, good, expired)] == [400, 404, 201, 404]


async def test_only_maintainers_make_triggers_and_only_owners_change_them(site: Site) -> None:
    developer, first = await site.person("dev", DEVELOPER), await site.person("first", MAINTAINER)
    second = await site.person("second", MAINTAINER)
    created = await made(site, first)
    async with site.client(developer) as client:
        for method, path in (("GET", ""), ("POST", ""), ("GET", f"/{created['id']}"), ("DELETE", f"/{created['id']}")):
            response = await client.request(method, address(site, f"/triggers{path}"), json={"description": "x"})
            assert response.status_code == 403, (method, path)
    async with site.client(second) as client:
        path = address(site, f"/triggers/{created['id']}")
        assert (await client.put(path, json={"description": "x"})).status_code == 403
        assert (await client.delete(path)).status_code == 204


async def test_guessing_tokens_costs_time(tmp_path: Path, database_url: str) -> None:
    limits = RefusalLimits(prompt_refusals=1, refusal_pause=3600)
    async with open_site(tmp_path, database_url, refusals=limits) as site, serving(site) as url:
        client = httpx.AsyncClient(base_url=url, trust_env=False, timeout=HANGS)
        path, body = address(site, "/trigger/pipeline"), {"token": "glptt-guess", "ref": "main"}
        assert (await client.post(path, json=body)).status_code == 404
        second = asyncio.create_task(client.post(path, json=body))

        async def held() -> bool:
            return site.services.refusals.held == 1

        await eventually(held, "the second refusal is held back")
        site.services.refusals.let_go()
        assert (await second).status_code == 404
        await client.aclose()


async def test_a_running_job_starts_a_pipeline_of_another_project_in_the_name_of_its_user(site: Site) -> None:
    await site.commit({".gitlab-ci.yml": CONFIG})
    user = await site.person("builder", MAINTAINER)
    upstream_project = site.world.project_id
    upstream = await site.world.pipeline("call: {script: x}\n")
    job = await site.world.job()
    async with site.services.database.write() as connection:
        await connection.execute(projects.project.update().values(visibility="private"))
        await connection.execute(pipelines.pipeline.update().values(user_id=user.id))
        await connection.execute(job_table.update().values(user_id=user.id))
    async with site.client(site.root) as client:
        other = (await client.post("/api/v4/projects", json={"name": "other"})).json()
        call = {"token": job["token"], "ref": "main", "variables": {"A": "1"}}
        path = f"/api/v4/projects/{other['id']}/trigger/pipeline"
        hidden = await client.post(path, json=call)
        async with site.services.database.write() as connection:
            await members.add_to_project(connection, other["id"], user.id, MAINTAINER)
        unlisted = await client.post(path, json=call)
        allow = {"target_project_id": site.world.project_id}
        await client.post(f"/api/v4/projects/{other['id']}/job_token_scope/allowlist", json=allow)
        empty = await client.post(path, json=call)
        await site.services.repositories.create(other["id"], "main")
        await git("push", "-q", site.services.repositories.path(other["id"]), "main", cwd=site.folder / "tree")
        responses = [await client.post(path, json=call) for _ in range(2)]
        await site.world.put(job, "success", b"")
        ended = await client.post(path, json=call)
        forged = await client.post(path, json={**call, "token": job["token"][:-2] + "xx"})
    assert (hidden.status_code, unlisted.status_code) == (404, 404)
    assert (empty.status_code, empty.json()) == (400, {"message": {"base": ["Reference not found"]}})
    assert [response.status_code for response in responses] == [201, 201], responses[0].text
    assert (ended.status_code, ended.headers["job-status"], forged.status_code) == (403, "success", 403)
    pipeline = responses[0].json()
    assert (pipeline["source"], pipeline["user"]["username"], pipeline["ref"]) == ("pipeline", "builder", "main")
    told = await variables_of(site, pipeline["id"])
    expected = {
        "CI_PIPELINE_SOURCE": "pipeline",
        "CI_UPSTREAM_PROJECT_ID": str(upstream_project),
        "CI_UPSTREAM_PIPELINE_ID": str(upstream),
        "CI_UPSTREAM_JOB_ID": str(job["id"]),
        "GITLAB_USER_LOGIN": "builder",
        "A": "1",
    }
    assert {key: told[key]["value"] for key in expected} == expected
    assert not {"CI_PIPELINE_TRIGGERED", "CI_TRIGGER_SHORT_TOKEN"} & set(told)


async def test_python_gitlab_makes_uses_and_removes_triggers(site: Site) -> None:
    await site.commit({".gitlab-ci.yml": CONFIG})
    path = await site.path()
    async with serving(site) as url:

        def work() -> None:
            client = gitlab.Gitlab(url, private_token=site.root.token)
            client.session.trust_env = False
            project = client.projects.get(path)
            trigger = project.triggers.create({"description": "mine"})
            pipeline = project.trigger_pipeline("main", trigger.token, variables={"DEPLOY_ZONE": "us-west1"})
            assert (pipeline.source, pipeline.ref) == ("trigger", "main")
            assert "DEPLOY_ZONE" in {item.key for item in pipeline.variables.list()}
            with pytest.raises(gitlab.GitlabCreateError):
                project.trigger_pipeline("main", "glptt-wrong")
            known = project.triggers.get(trigger.id)
            known.description = "ours"
            known.save()
            assert [item.description for item in project.triggers.list()] == ["ours"]
            known.delete()
            assert project.triggers.list() == []
            client.session.close()

        await asyncio.to_thread(work)
