"""`perdure import gitlab` from answers as GitLab documents them."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from cli.remote.documents import IMPORT, schema
from tests.api.v4.site import Site
from tests.cli.importing.furnished import good, refs
from tests.cli.importing.gitlab import TOKEN, Gitlab, serving_application, serving_gitlab
from tests.cli.importing.gitlab_documents import HOOK_SECRET, PATH, SCHEDULES, variable
from tests.cli.remote.conftest import closing
from tests.cli.remote.matching import matches
from tests.cli.remote.shell import Shell
from tests.cli.running import Ran

pytestmark = pytest.mark.slow
"""An instance to import from for each test; a second and more of each."""

HOME = "/api/v4/projects/diaspora%2Fweb%2Fdiaspora-client"


@pytest.fixture
async def gitlab(tmp_path: Path) -> AsyncIterator[Gitlab]:
    """A GitLab server."""
    async with serving_gitlab(tmp_path) as opened:
        yield opened


async def imported(mover: Shell, gitlab: Gitlab, *words: str, project: str = PATH, **env: str) -> Ran:
    """Import its project."""
    return await mover("import", "gitlab", gitlab.url, project, *words, **{"PERDURE_SOURCE_TOKEN": TOKEN, **env})


async def result(mover: Shell, gitlab: Gitlab, *words: str, code: int = 1) -> dict[str, Any]:
    """The document of an import."""
    done = await imported(mover, gitlab, "--json", *words)
    assert done.code == code, done.out + done.err
    found: dict[str, Any] = json.loads(done.out)
    assert matches(found, schema(IMPORT))
    return found


def reasons(found: dict[str, Any], kind: str, name: str = "") -> str:
    """What is said of something that was not carried; it must be."""
    said = [one for one in found["not_carried"] if one["kind"] == kind and name in one["name"]]
    assert said, f"{kind} {name} is not told: {found['not_carried']}"
    return " ".join(f"{one['reason']} {one['advice']}" for one in said)


def failures(found: dict[str, Any]) -> set[tuple[str, str]]:
    """What could have been carried and was not."""
    return {(one["kind"], one["name"]) for one in found["not_carried"] if one["failed"]}


async def test_what_can_be_carried_is(target: Site, mover: Shell, gitlab: Gitlab) -> None:
    found = await result(mover, gitlab)
    assert failures(found) == {("variable", "SHORT"), ("schedule", "In words")}
    assert ("too short" in reasons(found, "variable", "SHORT"), "cron" in reasons(found, "schedule", "words")) == (
        True,
        True,
    )
    async with target.client(target.root) as client:
        project = await good(client, "GET", HOME)
        variables = {one["key"]: one for one in await good(client, "GET", f"{HOME}/variables")}
        environments = {one["name"]: one for one in await good(client, "GET", f"{HOME}/environments")}
        branches = {one["name"]: one for one in await good(client, "GET", f"{HOME}/protected_branches")}
        (tag,) = await good(client, "GET", f"{HOME}/protected_tags")
        (schedule,) = await good(client, "GET", f"{HOME}/pipeline_schedules")
        schedule = await good(client, "GET", f"{HOME}/pipeline_schedules/{schedule['id']}")
        group = await good(client, "GET", "/api/v4/groups/diaspora%2Fweb")
        (trigger,) = await good(client, "GET", f"{HOME}/triggers")
    settings = ("build_timeout", "auto_cancel_pending_pipelines", "merge_method", "approvals_before_merge")
    assert [project[name] for name in settings] == [5400, "disabled", "rebase_merge", 1]
    assert (project["name"], project["visibility"], group["name"], group["visibility"]) == (
        "Diaspora Client",
        "private",
        "Web",
        "internal",
    )
    assert sorted(variables) == ["DEPLOY_KEY", "FILE"]
    deploy = variables["DEPLOY_KEY"]
    assert (deploy["value"], deploy["protected"], deploy["masked"], deploy["environment_scope"]) == (
        "s3cret-value",
        True,
        True,
        "production",
    )
    assert (variables["FILE"]["variable_type"], variables["FILE"]["raw"]) == ("file", True)
    assert {name: one["state"] for name, one in environments.items()} == {
        "review/fix-foo": "available",
        "old": "stopped",
    }
    levels = [branches["main"][f"{what}_access_levels"][0]["access_level"] for what in ("push", "merge")]
    assert (levels, branches["release/*"]["allow_force_push"]) == ([40, 0], True)
    assert tag["create_access_levels"][0]["access_level"] == 40
    assert (schedule["active"], schedule["cron_timezone"]) == (False, "Pacific Time (US & Canada)")
    assert schedule["variables"] == [
        {"key": "TEST_VARIABLE_1", "variable_type": "file", "value": "TEST_1", "raw": True}
    ]
    assert [one["name"] for one in schedule["inputs"]] == ["deploy_strategy", "feature_flags"]
    assert trigger["description"] == "my trigger"
    assert set(await refs(target, project["id"])) == {"refs/heads/main", "refs/heads/fix/a", "refs/tags/v1"}


async def test_what_stays_behind_is_told_with_what_to_do(target: Site, mover: Shell, gitlab: Gitlab) -> None:
    gitlab.lists["pipelines"] = [{"id": number, "status": "success"} for number in range(30)]
    gitlab.lists["issues"] = [{"id": number, "iid": number, "title": f"No. {number}"} for number in range(25)]
    found = await result(mover, gitlab)
    kinds = "member deploy_key access_token runner release merge_request wiki_page package container_image secure_file"
    for kind in (*kinds.split(), "integration", "push_mirror", "issue", "pipeline", "lfs"):
        reasons(found, kind)
    (issues,) = [one for one in found["not_carried"] if one["kind"] == "issue"]
    assert (issues["count"], "and 20 more" in issues["name"]) == (25, True)
    assert "At least" in reasons(found, "pipeline")
    assert "Could not look" in reasons(found, "job_token_allowlist")
    assert "deploy_token" not in {one["kind"] for one in found["not_carried"]}
    assert "variable set HIDDEN --hidden" in reasons(found, "variable", "HIDDEN")
    assert "ci_default_git_depth" not in {one["name"] for one in found["not_carried"]}
    assert "no_one_allowed" in reasons(found, "setting", "override_role")
    rules = reasons(found, "protected_branch", "main")
    assert all(word in rules for word in ("deploy key 1", "user 50", "group 1234", "code owners"))
    assert "user 10" in reasons(found, "protected_tag")
    assert "maeda" in reasons(found, "schedule_owner")
    assert [one["name"] for one in found["not_carried"] if one["kind"] == "schedule_owner"] == [
        "Test schedule pipeline"
    ]
    assert "gone" in reasons(found, "schedule", "gone")
    assert "expired" in reasons(found, "trigger", "over")
    assert "newest_ready_first" in reasons(found, "resource_group")
    assert "stops by itself" in reasons(found, "environment", "review/fix-foo")
    groups = [one for one in found["not_carried"] if one["kind"] == "group_variable"]
    assert [(one["name"], one["count"]) for one in groups] == [("", 0), ("OF_GROUP", 1)]


async def test_no_page_of_a_list_is_left_out(target: Site, mover: Shell, gitlab: Gitlab) -> None:
    gitlab.lists["variables"] = [variable(f"KEY_{number}", "x") for number in range(230)]
    gitlab.lists["pipeline_schedules"] = [
        {**SCHEDULES[0], "id": number, "description": f"No. {number}"} for number in range(101)
    ]
    gitlab.limits["/api/v4/projects/4/variables"] = 2
    found = await result(mover, gitlab, code=0)
    made = [one["kind"] for one in found["carried"] if one["outcome"] == "created"]
    assert (made.count("variable"), made.count("schedule")) == (230, 101)


async def test_a_list_that_the_token_may_not_read_is_a_failure_if_it_is_carried(
    target: Site, mover: Shell, gitlab: Gitlab
) -> None:
    gitlab.forbidden |= {"triggers", "variables"}
    found = await result(mover, gitlab)
    assert {("variable", ""), ("trigger", "")} <= failures(found)
    assert "maintainer" in reasons(found, "trigger")


async def test_the_token_goes_nowhere_else(tmp_path: Path, target: Site, mover: Shell, gitlab: Gitlab) -> None:
    asked: list[Any] = []

    async def anything(request: web.Request) -> web.Response:
        asked.append((request.path_qs, dict(request.headers)))
        return web.json_response([])

    elsewhere = web.Application()
    elsewhere.router.add_route("*", "/{path:.*}", anything)
    async with serving_application(elsewhere) as evil:
        gitlab.project["http_url_to_repo"] = f"{evil}/{PATH}.git"
        gitlab.project["_links"]["self"] = f"{evil}/api/v4/projects/4"
        gitlab.links = evil
        gitlab.lists["variables"] = [variable(f"KEY_{number}", "x") for number in range(130)]
        found = await result(mover, gitlab)
        assert failures(found) == {("schedule", "In words")}
        gitlab.project["path_with_namespace"] = f"@{evil.removeprefix('http://')}/x"
        await imported(mover, gitlab, "--to", "moved/other", project="4")
    assert asked == []
    assert gitlab.tokens == {TOKEN}


async def test_redirects_are_not_followed(target: Site, mover: Shell, gitlab: Gitlab) -> None:
    asked: list[str] = []

    async def redirect(request: web.Request) -> web.Response:
        asked.append(request.path)
        raise web.HTTPMovedPermanently(f"{gitlab.url}{request.path_qs}")

    moved = web.Application()
    moved.router.add_route("*", "/{path:.*}", redirect)
    async with serving_application(moved) as url:
        done = await mover("import", "gitlab", url, "4", PERDURE_SOURCE_TOKEN=TOKEN)
        assert (done.code, "a token is not sent on" in done.err) == (2, True), done.err
    assert (len(asked), gitlab.asked) == (1, [])


@pytest.mark.parametrize("words", [("--json",), ()])
async def test_no_secret_is_told(target: Site, mover: Shell, gitlab: Gitlab, words: tuple[str, ...]) -> None:
    done = await imported(mover, gitlab, *words)
    for secret in (TOKEN, target.root.token, "s3cret-value", "group-s3cret", HOOK_SECRET, "runners-s3cret"):
        assert secret not in done.out + done.err


async def test_what_a_server_says_is_told_without_the_token(target: Site, mover: Shell, gitlab: Gitlab) -> None:
    wrong = "glpat-another-s3cret"
    done = await imported(mover, gitlab, PERDURE_SOURCE_TOKEN=wrong)
    assert (done.code, wrong in done.err, "[MASKED]" in done.err) == (4, False, True)


async def test_no_command_line_of_git_has_a_token(tmp_path: Path, target: Site, mover: Shell, gitlab: Gitlab) -> None:
    tools, log, trace = tmp_path / "tools", tmp_path / "argv", tmp_path / "trace"
    tools.mkdir()
    (tools / "git").write_text(
        f'#!/bin/sh\nprintf "%s\\n" "$*" >> {log}\nPATH=${{PATH#*:}}\nGIT_TRACE={trace} exec git "$@"\n'
    )
    (tools / "git").chmod(0o755)
    path = f"{tools}:{mover.environment['PATH']}"
    leaky = {"GIT_CURL_VERBOSE": "1", "GIT_TRACE_CURL": str(trace), "GIT_TRACE_REDACT": "0"}
    found = await imported(mover, gitlab, "--json", PATH=path, **leaky)
    assert found.code == 1, found.err
    told = log.read_text() + trace.read_text()
    assert ("fetch" in told, "push" in told, "remote-http" in told) == (True, True, True)
    for secret in (TOKEN, target.root.token, "Authorization", "Basic"):
        assert secret not in told


async def test_settings_of_git_on_this_machine_do_not_count(
    tmp_path: Path, target: Site, mover: Shell, gitlab: Gitlab
) -> None:
    asked: list[str] = []

    async def anything(request: web.Request) -> web.Response:
        asked.append(request.path)
        return web.Response(status=404)

    elsewhere = web.Application()
    elsewhere.router.add_route("*", "/{path:.*}", anything)
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    (hooks / "pre-push").write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    (hooks / "pre-push").chmod(0o755)
    async with serving_application(elsewhere) as evil:
        (mover.folder / ".gitconfig").write_text(
            f'[url "{evil}/"]\n\tinsteadOf = {gitlab.url}/\n[core]\n\thooksPath = {hooks}\n'
        )
        found = await result(mover, gitlab)
    assert ("repository", PATH) not in failures(found)
    assert (asked, (tmp_path / "ran").exists()) == ([], False)


async def test_the_token_comes_from_standard_input_or_is_typed_unseen(
    target: Site, mover: Shell, gitlab: Gitlab
) -> None:
    done = await mover("import", "gitlab", gitlab.url, PATH, "--source-token-stdin", "--dry-run", stdin=f"{TOKEN}\n")
    assert (done.code, "Nothing was changed" in done.err) == (0, True), done.err
    with closing(mover.terminal("import", "gitlab", gitlab.url, PATH, "--dry-run")) as terminal:
        await terminal.until("Access token for")
        await terminal.until_hidden()
        terminal.write(f"{TOKEN}\n")
        assert await terminal.end() == 0, terminal.shown
    assert ("created" in terminal.shown, TOKEN in terminal.shown) == (True, False)


async def test_a_password_in_the_address_is_refused_and_not_repeated(mover: Shell, gitlab: Gitlab) -> None:
    url = gitlab.url.replace("http://", "http://me:s3cret@")
    done = await mover("import", "gitlab", url, PATH, PERDURE_SOURCE_TOKEN=TOKEN)
    assert (done.code, "holds a user or password" in done.err, "s3cret" in done.err) == (2, True, False)
    assert gitlab.asked == []


async def test_a_repository_that_cannot_be_read_is_told_and_the_rest_is_carried(
    target: Site, mover: Shell, gitlab: Gitlab
) -> None:
    (gitlab.repository / "info" / "refs").unlink()
    found = await result(mover, gitlab)
    assert ("repository", PATH) in failures(found)
    assert "variable" in {one["kind"] for one in found["carried"]}


async def test_a_table_is_for_people(target: Site, mover: Shell, gitlab: Gitlab) -> None:
    done = await imported(mover, gitlab)
    lines = [line.split("\t") for line in done.out.splitlines()]
    assert ["created", "project", PATH, ""] in lines
    assert [line[0] for line in lines if line[2:3] == ["SHORT"]] == ["failed"]
    (token,) = [line for line in lines if line[0] == "trigger token"]
    assert (token[1], token[2].startswith("glptt-")) == ("my trigger", True)
    assert "Not all of" in done.err
