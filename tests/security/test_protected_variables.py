"""Protected variables reach jobs of protected refs, and nothing else: each way to them is tried through its door."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from tests.api.v4.site import Person, Site, open_site, serving
from tests.application.bridges.installation import Installation, open_installation
from tests.git.serving import git, new_commit, new_work_tree

SECRET = "correct-horse-battery"
CONFIG = """
show:
  script: make
  rules:
    - if: $GUARDED
      variables: {SEEN_BY_RULES: "yes"}
    - when: on_success
"""


async def variable(site: Site, **values: Any) -> None:
    """Give the project a protected variable by REST."""
    body = {"key": "GUARDED", "value": SECRET, "protected": True, "masked": True, **values}
    async with site.client(site.root) as client:
        response = await client.post(f"/api/v4/projects/{site.world.project_id}/variables", json=body)
    assert response.status_code == 201, response.text


async def call(site: Site, method: str, path: str, body: Any = None, person: Person | None = None) -> Any:
    """A call of the REST API on the project; its response."""
    async with site.client(person or site.root) as client:
        return await client.request(method, f"/api/v4/projects/{site.world.project_id}{path}", json=body)


async def given(site: Site, job: dict[str, Any] | None = None) -> dict[str, str]:
    """What the next job's runner is told of variables."""
    job = job or await site.world.job()
    return {item["key"]: item["value"] for item in job["variables"]}


@pytest.fixture
async def site(tmp_path: Path, database_url: str) -> AsyncIterator[Site]:
    """An installation with one project."""
    async with open_site(tmp_path, database_url) as opened:
        yield opened


@pytest.fixture
async def tree(site: Site, tmp_path: Path) -> AsyncIterator[Path]:
    """A clone of the project, which is served; the administrator's token is in its remote's address."""
    folder = tmp_path / "clone"
    await new_work_tree(folder, {".gitlab-ci.yml": CONFIG})
    async with serving(site) as url:
        address = url.replace("://", f"://root:{site.root.token}@")
        await site.services.repositories.create(site.world.project_id, "main")
        await git("remote", "add", "origin", f"{address}/{await site.path()}.git", cwd=folder)
        await variable(site)
        yield folder


async def settle_all(site: Site) -> None:
    """Let every pipeline offer its jobs."""
    for item in reversed((await call(site, "GET", "/pipelines?per_page=100")).json()):
        await site.world.settle(item["id"])


async def pushed(site: Site, tree: Path, refspec: str) -> dict[str, str]:
    """The variables of the job of what this push makes."""
    await git("push", "-q", "origin", refspec, cwd=tree)
    await settle_all(site)
    return await given(site)


async def test_the_protected_branch_has_them(site: Site, tree: Path) -> None:
    found = await pushed(site, tree, "main")
    assert (found["GUARDED"], found["SEEN_BY_RULES"], found["CI_COMMIT_REF_PROTECTED"]) == (SECRET, "yes", "true")


@pytest.mark.parametrize("refspec", ["main:fix", "main:heads/main", "main:Main", "main:main2"])
async def test_no_other_branch_has_them(site: Site, tree: Path, refspec: str) -> None:
    found = await pushed(site, tree, refspec)
    assert "GUARDED" not in found
    assert "SEEN_BY_RULES" not in found
    assert found["CI_COMMIT_REF_PROTECTED"] == "false"
    assert SECRET not in str(found)


async def test_a_tag_named_like_a_protected_branch_has_not(site: Site, tree: Path) -> None:
    assert (await call(site, "POST", "/protected_branches", {"name": "next"})).status_code == 201
    await git("tag", "next", cwd=tree)
    found = await pushed(site, tree, "refs/tags/next:refs/tags/next")
    assert found["CI_COMMIT_TAG"] == "next"
    assert "GUARDED" not in found


async def test_a_branch_named_like_a_protected_tag_has_not(site: Site, tree: Path) -> None:
    assert (await call(site, "POST", "/protected_tags", {"name": "v*"})).status_code == 201
    found = await pushed(site, tree, "main:refs/heads/v1")
    assert found["CI_COMMIT_BRANCH"] == "v1"
    assert "GUARDED" not in found
    await git("tag", "v2", cwd=tree)
    found = await pushed(site, tree, "refs/tags/v2:refs/tags/v2")
    assert (found["CI_COMMIT_TAG"], found["GUARDED"]) == ("v2", SECRET)


async def test_the_api_runs_only_what_the_name_says(site: Site, tree: Path) -> None:
    """A branch with the full name of another, from the time when one could be pushed, is never taken for the other."""
    said = await git("push", "-q", "origin", "main:refs/heads/refs/heads/main", cwd=tree, code=1)
    assert "begins with refs/" in said
    repository = site.services.repositories.path(site.world.project_id)
    await git("push", "-q", repository, "main:refs/heads/refs/heads/main", cwd=tree)
    made = await call(site, "POST", "/pipeline", {"ref": "refs/heads/refs/heads/main"})
    assert made.status_code == 201, made.text
    await site.world.settle(made.json()["id"])
    found = await given(site)
    assert found["CI_COMMIT_REF_NAME"] == "refs/heads/main"
    assert "GUARDED" not in found


async def test_a_developer_cannot_run_or_change_a_protected_branch(site: Site, tree: Path) -> None:
    await pushed(site, tree, "main")
    developer = await site.person("dev", 30)
    made = await call(site, "POST", "/pipeline", {"ref": "main"}, developer)
    assert (made.status_code, "main is a protected branch" in made.json()["message"]) == (403, True)
    address = site.services.settings.url.replace("://", f"://dev:{developer.token}@")
    await new_commit(tree, {"leak": "echo $GUARDED"}, "Leak")
    said = await git("push", f"{address}/{await site.path()}.git", "main", cwd=tree, code=1)
    assert "protected" in said
    assert [item["ref"] for item in (await call(site, "GET", "/pipelines")).json()] == ["main"]


async def test_lint_neither_tells_nor_uses_them(site: Site, tree: Path) -> None:
    await git("push", "-q", "origin", "main", cwd=tree)
    asked = {"content": CONFIG, "dry_run": True, "ref": "main", "include_jobs": True}
    for method, body in (("POST", asked), ("GET", {"dry_run": True, "include_jobs": True})):
        response = await call(site, method, "/ci/lint", body)
        assert response.json()["valid"], response.text
        assert "SEEN_BY_RULES" not in response.text.partition('"jobs"')[2]
        assert SECRET not in response.text


async def test_their_end_and_their_change_count_for_jobs_that_wait(site: Site, tree: Path) -> None:
    await git("push", "-q", "origin", "main", cwd=tree)
    await call(site, "PUT", "/variables/GUARDED", {"value": "another-value"})
    await settle_all(site)
    assert (await given(site))["GUARDED"] == "another-value"


async def test_nobody_but_maintainers_reads_them(site: Site) -> None:
    await variable(site, masked_and_hidden=True)
    shown = (await call(site, "GET", "/variables/GUARDED")).json()
    assert (shown["hidden"], shown["value"]) == (True, None)
    developer = await site.person("dev", 30)
    assert (await call(site, "GET", "/variables", person=developer)).status_code == 403
    async with site.services.database.read() as connection:
        rows = (await connection.execute(text("SELECT value FROM ci_variable"))).all()
    assert all(SECRET not in row.value for row in rows)


@pytest.fixture
async def here(tmp_path: Path) -> AsyncIterator[Installation]:
    """An installation whose bridges are carried out."""
    async with open_installation(tmp_path) as installation:
        yield installation


async def test_a_downstream_project_gets_only_what_it_is_handed(here: Installation) -> None:
    """What a bridge hands down by name arrives; all else stays, also with all of its variables forwarded."""
    await variable(here.site)
    await variable(here.site, key="NAMED")
    other = await here.project("other", {".gitlab-ci.yml": "build: {script: make}\n"})
    forward = "forward: {yaml_variables: true, pipeline_variables: true}"
    path = await here.path(other)
    config = f"go: {{variables: {{HANDED: $NAMED}}, trigger: {{project: {path}, {forward}}}}}\n"
    parent = await here.begin({".gitlab-ci.yml": config})
    row = await here.downstream(parent, "go")
    assert [(item["key"], item["value"]) for item in here.given(row)] == [("HANDED", SECRET)]
    found = await given(here.site)
    assert found["CI_PROJECT_PATH"] == path
    assert {"GUARDED", "NAMED"}.isdisjoint(found)


async def test_on_an_unprotected_branch_nothing_can_be_handed_down(here: Installation) -> None:
    await variable(here.site)
    other = await here.project("other", {".gitlab-ci.yml": "build: {script: make}\n"})
    config = f'go: {{variables: {{HANDED: "<$GUARDED>"}}, trigger: {await here.path(other)}}}\n'
    await call(here.site, "DELETE", "/protected_branches/main")
    parent = await here.begin({".gitlab-ci.yml": config})
    row = await here.downstream(parent, "go")
    assert [(item["key"], item["value"]) for item in here.given(row)] == [("HANDED", "<>")]


async def test_a_child_pipeline_has_those_of_its_own_ref(here: Installation) -> None:
    await variable(here.site)
    files = {
        ".gitlab-ci.yml": "go: {trigger: {include: child.yml}}\n",
        "child.yml": "build: {script: make}\n",
    }
    await here.begin(files)
    assert (await given(here.site))["GUARDED"] == SECRET
