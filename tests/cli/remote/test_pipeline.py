"""`perdure pipeline` and `perdure project` against a server."""

import json
from typing import Any

import pytest

from cli.remote.documents import PIPELINE, PIPELINE_DETAILS, PROJECT, WHY, schema
from tests.api.v4.site import Site
from tests.cli.remote.matching import matches, matches_list
from tests.cli.remote.shell import Shell
from tests.git.serving import git

CONFIG = """\
spec: {inputs: {level: {default: low}}}
---
build: {stage: build, script: "echo $[[ inputs.level ]]"}
check: {stage: test, script: make check, rules: [{if: '$DEPTH == "deep"'}]}
"""


async def document(shell: Shell, *words: str, **env: str) -> Any:
    done = await shell(*words, "--json", **env)
    assert done.code == 0, done.err
    return json.loads(done.out)


async def test_a_pipeline_is_run_shown_and_explained(site: Site, shell: Shell) -> None:
    sha = await site.commit({".gitlab-ci.yml": CONFIG})
    url = (await shell("pipeline", "run", "--var", "DEPTH=deep", "--input", "level=high")).out.strip()
    shown = await document(shell, "pipeline", "show", url)
    assert matches(shown, schema(PIPELINE_DETAILS))
    assert (shown["sha"], shown["ref"], shown["source"], shown["web_url"]) == (sha, "main", "api", url)
    assert [(job["name"], job["stage"]) for job in shown["jobs"]] == [("build", "build"), ("check", "test")]
    why = await document(shell, "pipeline", "why", str(shown["id"]))
    assert matches(why, schema(WHY))
    assert why["jobs"][1]["why"]["clause"] == "rules[0]"
    listed = await document(shell, "pipeline", "list", "--ref", "main", "--since", "1h")
    assert matches_list(listed, schema(PIPELINE))
    assert [one["id"] for one in listed] == [shown["id"]]
    assert (await document(shell, "pipeline", "list", "--status", "success")) == []


async def test_a_pipeline_that_could_not_be_made_shows_what_is_wrong_with_its_configuration(
    site: Site, shell: Shell
) -> None:
    await site.commit({".gitlab-ci.yml": CONFIG})
    path = f"/api/v4/projects/{site.world.project_id}/repository/files/.gitlab-ci.yml"
    body = {"branch": "main", "commit_message": "Break it", "content": "build: {script: x, stage: none}\n"}
    async with site.client(site.root) as client:
        assert (await client.put(path, json=body)).status_code == 200
    (made, *_) = await document(shell, "pipeline", "list")
    shown = await document(shell, "pipeline", "show", str(made["id"]))
    assert (shown["failure_reason"], "chosen stage none does not exist" in shown["yaml_errors"]) == (
        "config_error",
        True,
    ), shown
    done = await shell("pipeline", "show", str(made["id"]))
    assert (done.code, shown["yaml_errors"] in done.out) == (0, True), done.out


async def test_warnings_of_a_configuration_are_told_with_their_place(site: Site, shell: Shell) -> None:
    await site.commit({".gitlab-ci.yml": "build: {script: x}\npages: {script: y}\n"})
    made = await document(shell, "pipeline", "run")
    done = await shell("pipeline", "why", str(made["id"]))
    assert "Warning: .gitlab-ci.yml:2: pages job: its folder `public` is kept as an artifact; " in done.out


async def test_absent_jobs_are_explained_in_words(site: Site, shell: Shell) -> None:
    await site.commit({".gitlab-ci.yml": CONFIG})
    made = await document(shell, "pipeline", "run")
    done = await shell("pipeline", "why", str(made["id"]))
    assert done.code == 0
    assert "Not in this pipeline: 1" in done.out
    assert "rules[0]" in done.out
    assert 'DEPTH == "deep"' in done.out


async def test_what_is_wrong_with_a_configuration_is_told(site: Site, shell: Shell) -> None:
    await site.commit({".gitlab-ci.yml": "a: {stage: nowhere, script: x}\n"})
    done = await shell("pipeline", "run")
    assert done.code == 2
    assert ".gitlab-ci.yml:" in done.err
    assert done.out == ""


async def test_in_a_pipe_rows_have_tabs_and_no_colours(site: Site, shell: Shell) -> None:
    first = await site.world.pipeline()
    done = await shell("pipeline", "list")
    (row,) = done.out.splitlines()
    assert row.split("\t")[:3] == [str(first), "pending", "main"]
    assert "\x1b" not in done.out


@pytest.mark.parametrize(
    ("words", "what", "after"),
    [
        (("pipeline", "show", "999"), "pipeline 999", "perdure pipeline list"),
        (("job", "log", "999"), "job 999", "perdure job list"),
        (("pipeline", "list", "--project", "no/where"), "project no/where", "perdure project list"),
        (("runner", "show", "999"), "runner 999", "perdure runner list"),
        (("job", "show", "deploy"), "no job 'deploy'", "perdure job list --pipeline"),
    ],
)
async def test_what_is_not_there_is_named_with_what_to_do(
    site: Site, shell: Shell, words: tuple[str, ...], what: str, after: str
) -> None:
    await site.world.pipeline()
    done = await shell(*words)
    assert (done.code, done.out) == (3, "")
    assert what in done.err
    assert f"Next: `{after}" in done.err


async def test_a_wrong_token_and_a_server_that_is_away(site: Site, shell: Shell) -> None:
    url = site.services.settings.url
    wrong = await shell("pipeline", "list", PERDURE_SERVER=url, PERDURE_TOKEN="glpat-wrong")
    assert (wrong.code, wrong.out) == (4, "")
    assert f"Next: `perdure login {url}`" in wrong.err
    away = await shell("pipeline", "list", "--server", "http://127.0.0.1:1")
    assert (away.code, away.out) == (5, "")
    assert "Next: `perdure doctor`" in away.err


async def test_a_developer_may_not_do_what_maintainers_do(site: Site, shell: Shell) -> None:
    reporter = await site.person("rita", 20)
    pipeline = await site.world.pipeline()
    url = site.services.settings.url
    done = await shell("pipeline", "cancel", str(pipeline), PERDURE_SERVER=url, PERDURE_TOKEN=reporter.token)
    assert done.code == 4
    assert "perdure whoami" in done.err


async def test_a_pipeline_is_canceled_and_retried(site: Site, shell: Shell) -> None:
    site.connect_temporal()
    pipeline = await site.world.pipeline()
    canceled = await document(shell, "pipeline", "cancel", str(pipeline))
    assert canceled["id"] == pipeline
    await site.world.settle(pipeline)
    again = await shell("pipeline", "cancel", str(pipeline))
    assert (again.code, "nothing to cancel" in again.err) == (0, True)
    retried = await document(shell, "pipeline", "retry", str(pipeline))
    await site.world.settle(pipeline)
    assert (await document(shell, "pipeline", "show", str(pipeline)))["status"] == "running"
    # A new attempt stands where the first one stood
    assert [job["name"] for job in retried["jobs"]] == ["build", "check"]


async def test_what_was_not_named_is_not_touched_without_a_yes(site: Site, shell: Shell) -> None:
    pipeline = await site.world.pipeline()
    done = await shell("pipeline", "cancel")
    assert done.code == 2
    assert f"Cancel pipeline {pipeline}?" in done.err
    assert "--yes" in done.err
    kept = await shell("pipeline", "cancel", "--yes")  # without Temporal the command is kept
    assert (kept.code, "202 Accepted" in kept.err) == (0, True)


async def test_the_project_and_branch_of_a_working_copy_count(site: Site, shell: Shell) -> None:
    await site.commit({".gitlab-ci.yml": "build: {script: make}\n"})
    tree = site.folder / "tree"
    await git("remote", "add", "origin", f"{site.services.settings.url}/{await site.path()}.git", cwd=tree)
    await git("checkout", "-q", "-b", "feature", cwd=tree)
    other = await site.world.pipeline()
    here = Shell(tree, {"PERDURE_CONFIG": shell.environment["PERDURE_CONFIG"]})
    shown = await document(here, "project", "show")
    assert shown["path"] == await site.path()
    assert matches(shown, schema(PROJECT))
    none = await here("pipeline", "show")
    assert (none.code, "no pipeline of feature" in none.err) == (3, True)
    await git("checkout", "-q", "main", cwd=tree)
    assert (await document(here, "pipeline", "show"))["id"] == other
    elsewhere = await shell("project", "show", PERDURE_PROJECT="")
    assert (elsewhere.code, "--project GROUP/NAME" in elsewhere.err) == (2, True)


async def test_projects_are_listed_and_made(site: Site, shell: Shell) -> None:
    group = (await site.path()).partition("/")[0]
    made = await document(shell, "project", "create", f"{group}/fresh", "--visibility", "public")
    assert matches(made, schema(PROJECT))
    listed = await document(shell, "project", "list", "--search", "fresh")
    assert [one["path"] for one in listed] == [f"{group}/fresh"]
    assert (await shell("project", "create", "nowhere/fresh")).code == 3


async def test_lists_go_over_all_pages(site: Site, shell: Shell) -> None:
    jobs = "".join(f"job {number}: {{script: x}}\n" for number in range(130))
    pipeline = await site.world.pipeline(jobs)
    shown = await document(shell, "pipeline", "show", str(pipeline))
    assert [job["name"] for job in shown["jobs"]] == [f"job {number}" for number in range(130)]
    assert len(await document(shell, "job", "list", "--limit", "105")) == 105
