"""Checking configurations by the API, with python-gitlab and by plain calls."""

import asyncio
from typing import Any

import gitlab
import pytest
from gitlab.base import RESTObject

from tests.api.v4.site import Site, serving

CONFIG = """
include: /ci/*.yml
build: {stage: build, script: make}
ship: {stage: deploy, script: ship, rules: [{if: $CI_COMMIT_TAG}]}
"""
FILES = {".gitlab-ci.yml": CONFIG, "ci/check.yml": "check: {script: x, needs: [build]}\n"}


@pytest.fixture
async def path(site: Site) -> str:
    """Address of the project's lint, with a configuration in two files at `main`."""
    await site.commit(FILES)
    return f"/api/v4/projects/{site.world.project_id}/ci/lint"


async def test_python_gitlab_lints_a_text_and_a_commit(site: Site, path: str) -> None:
    async with serving(site) as url:
        client = gitlab.Gitlab(url, private_token=site.root.token)
        client.session.trust_env = False

        def lint() -> tuple[RESTObject, RESTObject, RESTObject]:
            project = client.projects.get(site.world.project_id)
            right = project.ci_lint.create({"content": CONFIG, "include_jobs": True})
            wrong = project.ci_lint.create({"content": "a: {scrpt: x}"})
            committed = project.ci_lint.get(dry_run=True, include_jobs=True)
            project.ci_lint.validate({"content": CONFIG})
            with pytest.raises(gitlab.exceptions.GitlabCiLintError, match="unknown keys: scrpt"):
                project.ci_lint.validate({"content": "a: {scrpt: x}"})
            return right, wrong, committed

        right, wrong, committed = await asyncio.to_thread(lint)
        client.session.close()
    assert right.valid
    assert [job["name"] for job in right.jobs] == ["check", "build", "ship"]
    assert right.jobs[0]["needs"] == [{"name": "build", "artifacts": True, "optional": False}]
    assert [one["location"] for one in right.includes] == ["ci/check.yml"]
    assert "include" not in right.merged_yaml
    assert "check:" in right.merged_yaml
    assert not wrong.valid
    assert wrong.errors == [
        ".gitlab-ci.yml:1:1: jobs:a config should implement the script:, run:, or trigger: keyword",
        ".gitlab-ci.yml:1:5: jobs:a config contains unknown keys: scrpt; did you mean `script`?",
    ]
    assert committed.valid
    assert [job["name"] for job in committed.jobs] == ["check", "build"]


async def test_a_text_that_is_no_yaml_is_shown_with_a_caret(site: Site, path: str) -> None:
    async with site.client(site.root) as client:
        response = await client.post(path, json={"content": "a:\n  script: [make\n  stage: b\n"})
    assert response.json()["errors"] == [
        (
            ".gitlab-ci.yml:2:11: Invalid configuration format: "
            "expected a closing `]` for this `[`, or a comma, before line 3\n"
            "     2 |   script: [make\n"
            "       |           ^\n"
            "     3 |   stage: b"
        )
    ]


async def test_a_dry_run_says_why_jobs_are_out_and_why_nothing_is_left(site: Site, path: str) -> None:
    async with site.client(site.root) as client:
        made = await client.post(path, json={"content": CONFIG, "dry_run": True, "include_jobs": True})
        text = "a: {script: x, rules: [{if: $NOPE}]}"
        empty = await client.post(path, json={"content": text, "dry_run": True, "include_jobs": True})
        static = await client.post(path, json={"content": text})
    (absent,) = made.json()["absent"]
    assert (absent["name"], absent["why"]["tried"][0]["values"]) == ("ship", {"CI_COMMIT_TAG": None})
    assert not empty.json()["valid"]
    assert "would have been empty" in empty.json()["errors"][0]
    assert [job["name"] for job in empty.json()["absent"]] == ["a"]
    assert static.json()["valid"]


async def test_warnings_are_apart(site: Site, path: str) -> None:
    async with site.client(site.root) as client:
        response = await client.post(path, json={"content": "image: x\na: {script: x, rules: [{when: always}]}"})
    document = response.json()
    assert (document["valid"], document["errors"]) == (True, [])
    assert any("image at the top is deprecated" in warning for warning in document["warnings"])
    assert any("may allow multiple pipelines to run" in warning for warning in document["warnings"])


@pytest.mark.parametrize(
    ("query", "status", "said"),
    [
        ({"content_ref": "nowhere"}, 400, "content_ref does not have a valid value"),
        ({"dry_run": "true", "dry_run_ref": "nowhere"}, 400, "Reference not found"),
        ({"content_ref": "main"}, 200, ""),
        ({"sha": "main"}, 200, ""),
    ],
)
async def test_refs_of_a_committed_text(site: Site, path: str, query: dict[str, Any], status: int, said: str) -> None:
    async with site.client(site.root) as client:
        response = await client.get(path, params=query)
    assert response.status_code == status
    assert said in response.text


async def test_who_may_lint(site: Site, path: str) -> None:
    reporter, developer = await site.person("reporter", 20), await site.person("developer", 30)
    async with site.client() as nobody, site.client(reporter) as client, site.client(developer) as other:
        assert (await nobody.post(path, json={"content": "a: {script: x}"})).status_code in {401, 404}
        assert (await client.post(path, json={"content": "a: {script: x}"})).status_code == 403
        assert (await other.post(path, json={"content": "a: {script: x}"})).status_code == 200


async def test_a_private_project_cannot_be_included_through_lint(site: Site, path: str) -> None:
    developer = await site.person("developer", 30)
    async with site.client(developer) as client:
        response = await client.post(path, json={"content": "include: {project: some/secret, file: /a.yml}"})
    assert "`some/secret` not found or access denied" in response.json()["errors"][0]


async def test_as_many_files_as_permitted_are_counted_once(site: Site) -> None:
    files = {f"ci/{number}.yml": f"job-{number}: {{script: x}}\n" for number in range(150)}
    await site.commit({".gitlab-ci.yml": "include: /ci/*.yml\n", **files})
    async with site.client(site.root) as client:
        response = await client.get(
            f"/api/v4/projects/{site.world.project_id}/ci/lint", params={"include_jobs": "true"}
        )
    assert (response.json()["errors"], len(response.json()["jobs"])) == ([], 150)
