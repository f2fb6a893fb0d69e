"""`perdure pipeline watch`: lines, documents, exit codes, time limits, servers that go away."""

import asyncio
import json
from pathlib import Path

from cli.remote.documents import CHANGE, schema
from tests.api.v4.site import Site, serving
from tests.cli.remote.matching import matches_list
from tests.cli.remote.shell import Shell
from tests.waiting import HANGS, eventually

ONE = "build: {script: x}\n"


async def ended(site: Site, pipeline: int, state: str) -> None:
    """Let the one job of a pipeline end, and the pipeline with it."""
    job = await site.world.job()
    await site.world.put(job, state, b"", failure_reason="script_failure", exit_code=1)
    await site.world.settle(pipeline)


async def test_a_pipeline_that_succeeds_and_one_that_fails(site: Site, shell: Shell) -> None:
    good = await site.world.pipeline(ONE)
    await ended(site, good, "success")
    done = await shell("pipeline", "watch", str(good))
    assert done.code == 0, done.err
    assert done.out.split()[:4] == ["test", "build", "✓", "passed"]
    bad = await site.world.pipeline(ONE)
    await ended(site, bad, "failed")
    done = await shell("pipeline", "watch", str(bad))
    assert done.code == 1
    assert "perdure job log" in done.err
    assert "\x1b" not in done.out + done.err


async def test_changes_are_told_one_by_one(site: Site, shell: Shell) -> None:
    pipeline = await site.world.pipeline(ONE)
    process = await shell.start("pipeline", "watch", str(pipeline), "--json")
    assert process.stdout is not None
    lines = [json.loads(await asyncio.wait_for(process.stdout.readline(), 20)) for _ in range(2)]
    await ended(site, pipeline, "success")
    rest, _ = await asyncio.wait_for(process.communicate(), 20)
    lines += [json.loads(line) for line in rest.splitlines()]
    assert matches_list(lines, schema(CHANGE))
    assert [(one["kind"], one["status"]) for one in lines[:2]] == [("job", "pending"), ("pipeline", "pending")]
    assert [(one["kind"], one["status"]) for one in lines[-2:]] == [("job", "success"), ("pipeline", "success")]
    assert process.returncode == 0


async def test_the_time_limit(site: Site, shell: Shell) -> None:
    pipeline = await site.world.pipeline(ONE)
    done = await shell("pipeline", "watch", str(pipeline), "--timeout", "1s")
    assert done.code == 124
    assert "did not end within 1 s" in done.err


async def test_a_pipeline_is_watched_over_a_restart_of_the_server(
    nobody: Shell, tmp_path: Path, sqlite_url: str
) -> None:
    from tests.api.v4.site import open_site

    async with open_site(tmp_path, sqlite_url) as site:
        async with serving(site) as url:
            assert (await nobody("login", url, "--token", site.root.token)).code == 0
            pipeline = await site.world.pipeline(ONE)
            page = f"{url}/{await site.path()}/-/pipelines/{pipeline}"
            process = await nobody.start("pipeline", "watch", page)
            assert process.stdout is not None
            assert b"pending" in await asyncio.wait_for(process.stdout.readline(), 20)
        assert process.stderr is not None
        assert b"Trying again" in await asyncio.wait_for(process.stderr.readline(), 20)
        await ended(site, pipeline, "success")
        async with serving(site):
            out, err = await asyncio.wait_for(process.communicate(), 30)
    assert process.returncode == 0, err
    assert b"The server is back" in err
    assert out.split()[:4] == [b"test", b"build", "✓".encode(), b"passed"]


async def test_patience_ends(nobody: Shell, tmp_path: Path, sqlite_url: str) -> None:
    from tests.api.v4.site import open_site

    async with open_site(tmp_path, sqlite_url) as site:
        async with serving(site) as url:
            await nobody("login", url, "--token", site.root.token)
            pipeline = await site.world.pipeline(ONE)
            page = f"{url}/{await site.path()}/-/pipelines/{pipeline}"
            process = await nobody.start("pipeline", "watch", page, "--patience", "1s")
            assert process.stdout is not None
            await asyncio.wait_for(process.stdout.readline(), 20)
        _, err = await asyncio.wait_for(process.communicate(), 30)
    assert process.returncode == 5
    assert b"cannot be reached" in err


async def test_watching_ends_at_a_gate_with_a_word_and_a_status_of_its_own(site: Site, shell: Shell) -> None:
    pipeline = await site.world.pipeline("go: {script: x, when: manual, allow_failure: false}\n")
    done = await shell("pipeline", "watch", str(pipeline))
    assert (done.code, f"Pipeline {pipeline}: manual" in done.err) == (6, True)
    assert "waits for a person to start go: `perdure job play " in done.err
    done = await shell("job", "log", "go", "--follow")
    assert (done.code, "perdure job play" in done.err) == (6, True)
    lines = (await shell("pipeline", "watch", str(pipeline), "--json")).out.splitlines()
    assert matches_list([json.loads(line) for line in lines], schema(CHANGE))
    assert json.loads(lines[-1])["status"] == "manual"


async def test_a_gate_beside_a_delayed_job_is_watched_on(site: Site, shell: Shell) -> None:
    pipeline = await site.world.pipeline(
        "go: {script: x, when: manual, allow_failure: false}\nlater: {script: x, when: delayed, start_in: 1 hour}\n"
    )
    done = await shell("pipeline", "watch", str(pipeline), "--timeout", "2s")
    assert done.code == 124, done.err


async def test_a_run_is_watched_to_its_gate(site: Site, shell: Shell) -> None:
    await site.commit({".gitlab-ci.yml": "go: {script: x, when: manual, allow_failure: false}\n"})
    process = await shell.start("pipeline", "run", "--watch")
    await site.world.settle(await made(site))
    _, err = await asyncio.wait_for(process.communicate(), HANGS)
    assert (process.returncode, b"perdure job play" in err) == (6, True), err


async def made(site: Site) -> int:
    """Wait for the first pipeline of the project."""

    async def look() -> int | None:
        async with site.client(site.root) as client:
            found = (await client.get(f"/api/v4/projects/{site.world.project_id}/pipelines")).json()
        return int(found[0]["id"]) if found else None

    return await eventually(look, "the pipeline is made")


async def test_a_run_is_watched_to_its_end(site: Site, shell: Shell) -> None:
    await site.commit({".gitlab-ci.yml": ONE})
    process = await shell.start("pipeline", "run", "--watch")
    pipeline = await made(site)
    await site.world.settle(pipeline)
    await ended(site, pipeline, "failed")
    out, err = await asyncio.wait_for(process.communicate(), 30)
    assert process.returncode == 1, err
    assert "✗ failed" in out.decode()
