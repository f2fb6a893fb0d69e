"""`perdure runner` against a server; the runner of this machine is still there."""

import shlex

import pytest

from auth.permissions import MAINTAINER
from cli.remote.documents import NEW_RUNNER, RUNNER, RUNNER_DETAILS, TAG_SET_QUEUE, schema
from tests.api.v4.site import Site
from tests.cli.remote.matching import matches, matches_list
from tests.cli.remote.shell import Shell
from tests.cli.remote.test_pipeline import document


async def test_a_runner_from_its_making_to_its_end(site: Site, shell: Shell) -> None:
    made = await document(shell, "runner", "create", "--description", "mine", "--tag", "linux", "--tag", "arm")
    assert matches(made, schema(NEW_RUNNER))
    assert made["command"].startswith(f"perdure runner register --url {site.services.settings.url} --token glrt-")
    number = str(made["id"])
    shown = await document(shell, "runner", "show", number)
    assert matches(shown, schema(RUNNER_DETAILS))
    assert (sorted(shown["tags"]), shown["run_untagged"], shown["paused"]) == (["arm", "linux"], False, False)
    listed = await document(shell, "runner", "list", "--project", await site.path(), "--tag", "arm")
    assert matches_list(listed, schema(RUNNER))
    assert [one["id"] for one in listed] == [made["id"]]
    assert (await document(shell, "runner", "pause", number))["paused"] is True
    assert (await document(shell, "runner", "resume", number))["paused"] is False
    refused = await shell("runner", "remove", number)
    assert (refused.code, "--yes" in refused.err) == (2, True)
    assert (await shell("runner", "remove", number, "--yes")).code == 0
    assert (await shell("runner", "show", number)).code == 3


@pytest.mark.parametrize(
    ("field", "executor"),
    [
        ("gitlab_runner_command", {"--executor": "shell"}),
        ("gitlab_runner_docker_command", {"--executor": "docker", "--docker-image": "alpine"}),
    ],
)
async def test_the_command_of_gitlab_runner_registers_it(
    site: Site, shell: Shell, field: str, executor: dict[str, str]
) -> None:
    """Read as its command line reads it, it makes the one call that `gitlab-runner register` makes."""
    made = await document(shell, "runner", "create", "--description", "Ada's box", "--tag", "linux", "--locked")
    words = shlex.split(made[field])
    assert words[:3] == ["gitlab-runner", "register", "--non-interactive"]
    options = dict(zip(words[3::2], words[4::2], strict=True))
    token = options.pop("--token")
    assert options == {"--url": site.services.settings.url, **executor, "--name": "Ada's box"}, (
        "the server owns tags, locked, run-untagged and paused of a token that begins with glrt-: they would be fatal"
    )
    assert token == made["token"]
    async with site.client() as client:
        body = {"token": token, "system_id": "s_0123456789ab", "info": {"name": "gitlab-runner"}}
        verified = await client.post(f"{options['--url']}/api/v4/runners/verify", json=body)
    assert (verified.status_code, verified.json()["id"]) == (200, made["id"])


async def test_all_commands_are_printed_and_one_of_them_can_be_piped(site: Site, shell: Shell) -> None:
    done = await shell("runner", "create")
    assert done.out.startswith("perdure runner register --url ")
    assert (done.out.count("\n"), "gitlab-runner" in done.out) == (1, False)
    assert f"gitlab-runner register --non-interactive --url {site.services.settings.url} --token glrt-" in done.err
    assert done.err.rstrip().endswith("--executor docker --docker-image alpine")


async def test_outside_of_a_working_copy_the_other_kinds_are_named(shell: Shell) -> None:
    del shell.env["PERDURE_PROJECT"]
    refused = await shell("runner", "create")
    assert (refused.code, "Which project?" in refused.err) == (2, True)
    assert "`--for instance`" in refused.err
    assert (await shell("runner", "create", "--for", "instance")).code == 0


async def test_all_runners_with_their_processes(site: Site, shell: Shell) -> None:
    await site.world.request()
    (runner,) = await document(shell, "runner", "list", "--all")
    assert (runner["runner_type"], runner["status"]) == ("instance_type", "online")
    shown = await document(shell, "runner", "show", str(runner["id"]))
    assert [manager["system_id"] for manager in shown["managers"]] == ["s_tests"]
    assert "s_tests" in (await shell("runner", "show", str(runner["id"]))).out


async def test_administrators_see_all_runners_and_others_their_own(site: Site, shell: Shell) -> None:
    path = await site.path()
    own = await document(shell, "runner", "create", "--description", "own", "--tag", "arm", "--tag", "big")
    shared = site.world.runner_id
    rows = [line.split("\t") for line in (await shell("runner", "list")).out.splitlines()]
    assert {row[0]: row[3:5] for row in rows} == {
        str(own["id"]): ["project", "arm, big"],
        str(shared): ["instance", ""],
    }
    maintainer = await site.person("maint", MAINTAINER)
    shell.env["PERDURE_TOKEN"] = maintainer.token
    (seen,) = await document(shell, "runner", "list")
    assert (seen["id"], seen["tags"]) == (own["id"], ["arm", "big"])
    assert {one["id"] for one in await document(shell, "runner", "list", "--project", path)} == {own["id"], shared}
    assert (await shell("runner", "list", "--all")).code == 4
    del shell.env["PERDURE_TOKEN"]
    assert "There are none" in (await shell("runner", "list", "--mine", "--status", "stale")).err


async def test_an_administrator_allows_a_project_to_run_as_the_server(site: Site, shell: Shell) -> None:
    async with site.client(site.root) as client:
        await client.put(f"/api/v4/runners/{site.world.runner_id}", json={"as_server": True})
    await site.world.request()
    maintainer = await site.person("maint", MAINTAINER)
    await site.world.pipeline("one: {script: x}\n")
    path = await site.path()
    says = f"an administrator allows this project with `perdure runner allow {path}`"
    assert says in (await shell("job", "why", "one")).out
    assert says in (await shell("pipeline", "why")).out
    assert says in (await document(shell, "job", "why", "one"))["stuck_reason"]
    shell.env["PERDURE_TOKEN"] = maintainer.token
    refused = await shell("runner", "allow", path)
    assert (refused.code, "only an administrator" in refused.err) == (4, True)
    assert (await site.world.request()).status_code == 204
    del shell.env["PERDURE_TOKEN"]
    assert (await shell("runner", "disallow", path)).code == 0
    assert (await site.world.request()).status_code == 204
    done = await shell("runner", "allow", path)
    assert (done.code, f"Jobs of {path} may run as the server's user" in done.err) == (0, True)
    assert says not in (await shell("job", "why", "one")).out
    assert (await site.world.request()).status_code == 201
    assert (await shell("runner", "allow", "acme/nowhere")).code == 3


async def test_a_runner_of_something_unknown(site: Site, shell: Shell) -> None:
    assert (await shell("runner", "create", "--for", "galaxy")).code == 2
    assert (await shell("runner", "create", "--for", "group", "--group", "nowhere")).code == 3


def test_the_runner_of_this_machine_is_still_there(nobody: Shell) -> None:
    done = nobody.run("runner", "run", "--config", "none.toml")
    assert done.code == 3
    assert "perdure runner register --config none.toml" in done.err
    assert nobody.run("runner", "register", "--url", "http://x", "--token", "t", "--executor", "?").code == 2


async def test_what_a_runner_leaves_out_of_a_job_is_told(site: Site, shell: Shell) -> None:
    await site.world.pipeline("one: {script: x, image: ruby}\n")
    await site.world.request(info={"executor": "shell", "features": {"image": False}})
    (told,) = (await document(shell, "job", "why", "one"))["left_out"]
    assert told.endswith("has no containers: `image` ruby is not used.")
    assert told in (await shell("job", "why", "one")).out
    assert told in (await shell("pipeline", "why")).out


async def test_the_queue_by_tag_set(site: Site, shell: Shell) -> None:
    empty = await shell("runner", "queue")
    assert (empty.code, "Nothing waits" in empty.err + empty.out) == (0, True)
    await site.world.request()
    await site.world.pipeline("one: {script: x}\ntwo: {script: x}\ngpu: {script: x, tags: [gpu]}\n")
    await site.world.job()
    shown = await document(shell, "runner", "queue")
    assert matches_list(shown, schema(TAG_SET_QUEUE))
    found = {tuple(one["tags"]): one for one in shown}
    assert (found[()]["jobs"], found[()]["online"], found[()]["busy"], found[()]["taken_jobs"]) == (1, 1, 1, 1)
    assert found[()]["wait_p50"] is not None
    assert (found["gpu",]["stuck"], found["gpu",]["wait_p95"]) == (1, None)
    rows = [line.split("\t") for line in (await shell("runner", "queue")).out.splitlines()]
    assert {row[0]: (row[1], row[3], row[6]) for row in rows if len(row) > 6} == {
        "gpu": ("1", "0 (0 busy)", "No runner of this project has the tag gpu."),
        next(row[0] for row in rows if row[0] != "gpu"): ("1", "1 (1 busy)", ""),
    }
