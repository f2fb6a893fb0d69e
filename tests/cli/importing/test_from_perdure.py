"""`perdure import gitlab` from one installation of Perdure to another one."""

import json
from typing import Any
from urllib.parse import quote

import pytest

from cli.remote.documents import IMPORT, schema
from models.repositories.pipelines import resource_groups
from tests.api.v4.site import Site
from tests.cli.importing.furnished import HIDDEN, SECRET, contents, good, refs
from tests.cli.remote.matching import matches
from tests.cli.remote.shell import Shell
from tests.cli.running import Ran
from tests.git.serving import git, new_commit

pytestmark = pytest.mark.slow
"""An instance to import from for each test; a second and more of each."""


async def imported(mover: Shell, source: Site, *words: str, **env: str) -> Ran:
    """Import the source's project."""
    url = source.services.settings.url
    token = {"PERDURE_SOURCE_TOKEN": source.root.token, **env}
    return await mover("import", "gitlab", url, await source.path(), *words, **token)


async def result(mover: Shell, source: Site, *words: str, code: int = 0) -> dict[str, Any]:
    """The document of an import."""
    done = await imported(mover, source, "--json", *words)
    assert done.code == code, done.out + done.err
    found: dict[str, Any] = json.loads(done.out)
    assert matches(found, schema(IMPORT))
    return found


def left(found: dict[str, Any]) -> set[tuple[str, str]]:
    """Kinds and names of what was not carried."""
    return {(one["kind"], one["name"]) for one in found["not_carried"]}


def outcomes(found: dict[str, Any]) -> set[str]:
    """What became of what was carried."""
    return {one["outcome"] for one in found["carried"]}


async def alike(source: Site, target: Site, path: str) -> None:
    """Both sides have the same of what is carried, but the hidden variable."""
    there, here = await contents(source, await source.path()), await contents(target, path)
    there["variables"] = [one for one in there["variables"] if not one["hidden"]]
    assert here == there


async def test_a_project_comes_whole_and_what_stays_behind_is_told(source: Site, target: Site, mover: Shell) -> None:
    found = await result(mover, source, "--to", "moved/web/shop")
    assert (found["project"], found["complete"], found["dry_run"]) == ("moved/web/shop", True, False)
    await alike(source, target, "moved/web/shop")
    told = left(found)
    assert {("variable", "HIDDEN"), ("trigger_token", "deploy"), ("group_variable", "OF_GROUP")} <= told
    assert {("hook", "https://hook.example/services/..."), ("release", "v1")} <= told
    assert ("schedule", "nightly") in told
    assert ("resource_group", "production") in told
    assert ("member", "root") in told
    assert not any(one["failed"] for one in found["not_carried"])
    async with target.client(target.root) as client:
        home = "/api/v4/projects/moved%2Fweb%2Fshop"
        assert await good(client, "GET", f"{home}/pipelines") == []
        schedules = await good(client, "GET", f"{home}/pipeline_schedules")
        assert [(one["active"], one["owner"]["username"]) for one in schedules] == [(False, "root"), (False, "root")]
        (token,) = found["new_tokens"]
        started = await client.post(f"{home}/trigger/pipeline", json={"token": token["token"], "ref": "main"})
        assert started.status_code != 404, started.text


async def test_a_token_that_only_reads_is_enough(source: Site, target: Site, mover: Shell) -> None:
    async with source.client(source.root) as client:
        wanted = {"name": "move", "scopes": ["read_api", "read_repository"]}
        made = await good(client, "POST", f"/api/v4/users/{source.root.id}/personal_access_tokens", wanted)
    done = await imported(mover, source, "--to", "moved/shop", PERDURE_SOURCE_TOKEN=made["token"])
    assert done.code == 0, done.out + done.err
    await alike(source, target, "moved/shop")


async def test_nothing_secret_is_told(source: Site, target: Site, mover: Shell) -> None:
    for words in (("--json",), ("--yes",)):
        done = await imported(mover, source, "--to", "moved/shop", *words, "--yes")
        assert done.code == 0, done.err
        for secret in (source.root.token, target.root.token, SECRET, HIDDEN, "s3cret"):
            assert secret not in done.out + done.err


async def test_to_run_it_again_changes_nothing(source: Site, target: Site, mover: Shell) -> None:
    await result(mover, source, "--to", "moved/shop")
    before = await contents(target, "moved/shop")
    found = await result(mover, source, "--to", "moved/shop", "--yes")
    assert (outcomes(found), found["new_tokens"], found["complete"]) == ({"unchanged"}, [], True)
    assert await contents(target, "moved/shop") == before


async def test_to_run_it_again_brings_what_has_changed(source: Site, target: Site, mover: Shell) -> None:
    await result(mover, source, "--to", "moved/shop", "--activate-schedules")
    async with source.client(source.root) as client:
        home = f"/api/v4/projects/{source.world.project_id}"
        await good(client, "PUT", f"{home}/variables/CONFIG", {"value": "a: 2\n", "protected": True})
        await good(client, "POST", f"{home}/variables", {"key": "LATER", "value": "x"})
        await good(client, "PATCH", f"{home}/protected_tags/v*", {"create_access_level": 40})
        await good(client, "PATCH", f"{home}/protected_branches/main", {"push_access_level": 40})
        await good(client, "PUT", f"{home}", {"build_timeout": 900})
        (nightly,) = [
            one for one in await good(client, "GET", f"{home}/pipeline_schedules") if one["description"] == "nightly"
        ]
        route = f"{home}/pipeline_schedules/{nightly['id']}"
        await good(client, "PUT", f"{route}/variables/DEEP", {"value": "no"})
        await good(client, "PUT", route, {"cron_timezone": "UTC"})
    tree = source.folder / "tree"
    await new_commit(tree, {"notes.md": "2\n"}, "Third")
    await git("push", "-q", source.services.repositories.path(source.world.project_id), "release/1", cwd=tree)
    found = await result(mover, source, "--to", "moved/shop", "--yes")
    assert found["complete"], found
    await alike(source, target, "moved/shop")
    active = {one["description"]: one["active"] for one in await schedules_of(target, "moved/shop")}
    assert active == {"nightly": True, "weekly": False}


async def test_the_mode_of_a_resource_group_comes_when_a_pipeline_has_made_it(
    source: Site, target: Site, mover: Shell
) -> None:
    await result(mover, source, "--to", "moved/shop")
    async with target.client(target.root) as client:
        key = (await good(client, "GET", "/api/v4/projects/moved%2Fshop"))["id"]
        async with target.services.database.write() as connection:
            await resource_groups.ensure(connection, key, ["production"], target.services.clock())
        await result(mover, source, "--to", "moved/shop", "--yes")
        (group,) = await good(client, "GET", "/api/v4/projects/moved%2Fshop/resource_groups")
    assert group["process_mode"] == "oldest_first"


async def schedules_of(site: Site, path: str) -> list[dict[str, Any]]:
    """The schedules of a project."""
    async with site.client(site.root) as client:
        found: list[dict[str, Any]] = await good(
            client, "GET", f"/api/v4/projects/{quote(path, safe='')}/pipeline_schedules"
        )
        return found


async def test_a_project_that_is_here_is_asked_about(source: Site, target: Site, mover: Shell) -> None:
    await result(mover, source, "--to", "moved/shop")
    done = await imported(mover, source, "--to", "moved/shop")
    assert (done.code, "--yes" in done.err, done.out) == (2, True, "")


async def test_a_dry_run_changes_nothing(source: Site, target: Site, mover: Shell) -> None:
    dry = await result(mover, source, "--to", "moved/web/shop", "--dry-run")
    assert (dry["dry_run"], dry["web_url"], dry["new_tokens"]) == (True, None, [])
    async with target.client(target.root) as client:
        assert (await client.get("/api/v4/groups/moved")).status_code == 404
    real = await result(mover, source, "--to", "moved/web/shop")
    told = [[(one["kind"], one["name"]) for one in found["carried"]] for found in (dry, real)]
    assert told[0] == told[1]
    assert left(dry) == left(real)
    before = await contents(target, "moved/web/shop")
    async with source.client(source.root) as client:
        home = f"/api/v4/projects/{source.world.project_id}"
        await good(client, "PUT", f"{home}/variables/CONFIG", {"value": "a: 2\n"})
        await good(client, "PUT", home, {"description": "Another"})
    dry = await result(mover, source, "--to", "moved/web/shop", "--dry-run")
    assert [one["name"] for one in dry["carried"] if one["outcome"] == "updated"] == ["description", "CONFIG"]
    assert await contents(target, "moved/web/shop") == before


async def test_what_went_its_own_way_here_is_never_overwritten(source: Site, target: Site, mover: Shell) -> None:
    await result(mover, source, "--to", "moved/shop")
    async with target.client(target.root) as client:
        key = (await good(client, "GET", "/api/v4/projects/moved%2Fshop"))["id"]
        await good(client, "PATCH", "/api/v4/projects/moved%2Fshop/protected_branches/main", {"push_access_level": 40})
    for site, project, text in ((source, source.world.project_id, "there\n"), (target, key, "here\n")):
        tree = source.folder / "tree"
        await git("checkout", "-q", "-B", "own", "main", cwd=tree)
        await new_commit(tree, {"own.md": text}, text)
        await git("push", "-q", site.services.repositories.path(project), "own:fix/a", "own:refs/tags/own", cwd=tree)
    before = await refs(target, key)
    found = await result(mover, source, "--to", "moved/shop", "--yes", code=1)
    assert {("branch", "fix/a"), ("tag", "own")} <= left(found)
    assert found["complete"] is False
    assert await refs(target, key) == before


async def test_one_ref_that_is_refused_does_not_hold_the_others_back(source: Site, target: Site, mover: Shell) -> None:
    async with target.client(target.root) as client:
        await good(client, "POST", "/api/v4/groups", {"name": "moved", "path": "moved"})
        group = (await good(client, "GET", "/api/v4/groups/moved"))["id"]
        await good(client, "POST", "/api/v4/projects", {"name": "shop", "namespace_id": group})
        await good(
            client,
            "POST",
            "/api/v4/projects/moved%2Fshop/protected_branches",
            {"name": "fix/*", "push_access_level": 0},
        )
    found = await result(mover, source, "--to", "moved/shop", "--yes", code=1)
    (failed,) = [one for one in found["not_carried"] if one["failed"]]
    assert (failed["kind"], failed["name"], "protected" in failed["reason"]) == ("branch", "fix/a", True)
    pushed = {one["name"] for one in found["carried"] if one["kind"] in {"branch", "tag"}}
    assert pushed == {"main", "release/1", "v1"}


async def test_schedules_are_not_started_while_something_is_missing(source: Site, target: Site, mover: Shell) -> None:
    async with source.client(source.root) as client:
        key = source.world.project_id
        await good(client, "PUT", f"/api/v4/projects/{key}", {"ci_config_path": "a.yml"})
    async with target.client(target.root) as client:
        await good(client, "POST", "/api/v4/groups", {"name": "moved", "path": "moved"})
        group = (await good(client, "GET", "/api/v4/groups/moved"))["id"]
        await good(client, "POST", "/api/v4/projects", {"name": "shop", "namespace_id": group})
        route = "/api/v4/projects/moved%2Fshop/protected_branches"
        await good(client, "POST", route, {"name": "fix/*", "push_access_level": 0})
        found = await result(mover, source, "--to", "moved/shop", "--yes", "--activate-schedules", code=1)
        assert ("schedule", "nightly") in left(found)
        assert [one["active"] for one in await schedules_of(target, "moved/shop")] == [False, False]
        await good(client, "PATCH", f"{route}/fix%2F*", {"push_access_level": 40})
    found = await result(mover, source, "--to", "moved/shop", "--yes", "--activate-schedules")
    active = {one["description"]: one["active"] for one in await schedules_of(target, "moved/shop")}
    assert active == {"nightly": True, "weekly": False}


async def test_an_empty_project_and_one_in_ones_own_namespace(source: Site, target: Site, mover: Shell) -> None:
    async with source.client(source.root) as client:
        made = await good(client, "POST", "/api/v4/projects", {"name": "empty", "visibility": "internal"})
    assert made["path_with_namespace"] == "root/empty"
    token = {"PERDURE_SOURCE_TOKEN": source.root.token}
    done = await mover("import", "gitlab", source.services.settings.url, str(made["id"]), "--json", **token)
    assert done.code == 0, done.err
    assert json.loads(done.out)["project"] == "root/empty"
    async with target.client(target.root) as client:
        assert (await good(client, "GET", "/api/v4/projects/root%2Fempty"))["visibility"] == "internal"


async def test_an_environment_that_is_in_use_here_is_not_stopped(source: Site, target: Site, mover: Shell) -> None:
    async with source.client(source.root) as client:
        home = f"/api/v4/projects/{source.world.project_id}"
        (one,) = await good(client, "GET", f"{home}/environments?name=production")
    await result(mover, source, "--to", "moved/shop")
    async with source.client(source.root) as client:
        await good(client, "POST", f"{home}/environments/{one['id']}/stop", {"force": True})
    await result(mover, source, "--to", "moved/shop", "--yes")
    await alike(source, target, "moved/shop")


async def test_a_project_is_not_imported_into_itself(source: Site, mover: Shell) -> None:
    env = {"PERDURE_SERVER": source.services.settings.url, "PERDURE_TOKEN": source.root.token}
    done = await imported(mover, source, "--yes", **env)
    assert (done.code, "into itself" in done.err) == (2, True)


@pytest.mark.parametrize(
    ("words", "env", "code", "said"),
    [
        (("acme/none",), {}, 3, "There is no project acme/none"),
        (("none",), {}, 2, "GROUP/NAME"),
        (("acme/none",), {"PERDURE_SOURCE_TOKEN": ""}, 2, "PERDURE_SOURCE_TOKEN"),
        (("acme/none",), {"PERDURE_SOURCE_TOKEN": "glpat-wrong"}, 4, "The token for the source is wrong"),
        (("acme/none",), {"PERDURE_SOURCE_TOKEN": "two words"}, 2, "no token has"),
        (("https://other.example/acme/none",), {}, 2, "is not on"),
        (("acme/none", "--patience", "long"), {}, 2, "--patience"),
    ],
)
async def test_what_is_wrong_is_explained(
    source: Site, mover: Shell, words: tuple[str, ...], env: dict[str, str], code: int, said: str
) -> None:
    token = {"PERDURE_SOURCE_TOKEN": source.root.token, **env}
    done = await mover("import", "gitlab", source.services.settings.url, *words, **token)
    assert (done.code, said in done.err, done.out) == (code, True, ""), done.err
