"""What somebody at a terminal sees: colours, a live view, a pager, questions; and what turns colours off."""

import asyncio

import pytest

from tests.api.v4.site import Site
from tests.cli.remote.conftest import closing
from tests.cli.remote.shell import LINES, Shell
from tests.cli.remote.test_job import LOG, job_with_log
from tests.cli.remote.test_watch import ONE, ended

GREEN = "\x1b[32m"


async def test_a_terminal_has_headings_and_colours(site: Site, shell: Shell) -> None:
    await ended(site, await site.world.pipeline(ONE), "success")
    with closing(shell.terminal("pipeline", "list")) as terminal:
        assert await terminal.end() == 0
    assert "commit" in terminal.shown
    assert f"{GREEN}✓ passed" in terminal.shown


@pytest.mark.parametrize(
    ("words", "env"),
    [((), {"NO_COLOR": "1"}), (("--no-color",), {}), ((), {"TERM": "dumb"})],
    ids=["env", "flag", "dumb"],
)
async def test_colours_can_be_turned_off(site: Site, shell: Shell, words: tuple[str, ...], env: dict[str, str]) -> None:
    pipeline = await site.world.pipeline(ONE)
    await ended(site, pipeline, "failed")
    for command in (("pipeline", "list"), ("job", "log", "build", "--no-pager"), ("pipeline", "watch", str(pipeline))):
        with closing(shell.terminal(*command, *words, **env)) as terminal:
            await terminal.end()
        assert "\x1b[3" not in terminal.shown, terminal.shown
        assert "\x1b[0;3" not in terminal.shown


async def test_the_live_view_is_drawn_again_in_its_place(site: Site, shell: Shell) -> None:
    pipeline = await site.world.pipeline(ONE)
    with closing(shell.terminal("pipeline", "watch", str(pipeline))) as terminal:
        await terminal.until("‖ pending")
        await ended(site, pipeline, "success")
        assert await terminal.end() == 0, terminal.shown
    assert "✓ passed" in terminal.shown
    assert "\x1b[1A" in terminal.shown  # the cursor went up
    assert "\x1b[?25h" in terminal.shown  # and is shown again at the end


async def test_a_pipeline_with_more_jobs_than_lines_fits(site: Site, shell: Shell) -> None:
    pipeline = await site.world.pipeline("".join(f"job {number}: {{script: x}}\n" for number in range(60)))
    with closing(shell.terminal("pipeline", "watch", str(pipeline), "--timeout", "2s")) as terminal:
        assert await terminal.end() == 124
    assert f"and {60 - (LINES - 4)} more" in terminal.shown


async def test_a_running_job_is_followed_and_keeps_its_colours(site: Site, shell: Shell) -> None:
    await site.world.pipeline(ONE)
    job = await site.world.job()
    await site.world.patch(job, 0, LOG)
    with closing(shell.terminal("job", "log", "build")) as terminal:
        await terminal.until("done")
        await site.world.put(job, "success", LOG)
        assert await terminal.end() == 0, terminal.shown
    assert f"{GREEN}green\x1b[0m" in terminal.shown
    assert "section_" not in terminal.shown
    assert "\x1b]52" not in terminal.shown  # nobody writes to the clipboard


async def test_the_log_of_a_job_that_ended_is_paged(site: Site, shell: Shell) -> None:
    job = await job_with_log(site)
    pager = shell.folder / "pager"
    pager.write_text("#!/bin/sh\necho paged by $LESS; cat\n")
    pager.chmod(0o755)
    for words, is_paged in (((), True), (("--no-pager",), False)):
        with closing(shell.terminal("job", "log", str(job), *words, PAGER=str(pager))) as terminal:
            assert await terminal.end() == 0, terminal.shown
        assert ("paged by FRX" in terminal.shown) is is_paged
        assert "done" in terminal.shown


async def test_a_pager_that_is_left_early_is_no_error(site: Site, shell: Shell) -> None:
    job = await job_with_log(site, b"x" * 99 + b"\n" + b"y" * 1_900_000)
    with closing(shell.terminal("job", "log", str(job), PAGER="head -n 1")) as terminal:
        assert await terminal.end() == 0, terminal.shown
    assert "Traceback" not in terminal.shown


async def test_a_question_is_asked_and_answered(site: Site, shell: Shell) -> None:
    await site.world.pipeline(ONE)
    with closing(shell.terminal("pipeline", "cancel")) as terminal:
        await terminal.until("[y/N]")
        terminal.write("n\n")
        assert await terminal.end() == 1
    with closing(shell.terminal("pipeline", "cancel", "--no-input")) as terminal:
        assert await terminal.end() == 2
    assert "--yes" in terminal.shown


async def test_names_are_completed_from_the_server(site: Site, shell: Shell) -> None:
    pipeline = await site.world.pipeline(ONE)

    async def completed(*words: str, **env: str) -> str:
        line = " ".join(["perdure", *words])
        asking = {"_PERDURE_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(len(words)), **env}
        code, out, err = await shell.process(**asking)
        assert (code, err) == (0, b""), err
        return out.decode().strip()

    assert "build" in await completed("job", "log", "bu")
    assert str(pipeline) in await completed("pipeline", "show", str(pipeline)[:3])
    assert (await site.path()) in await completed("pipeline", "list", "--project", "")
    assert "watch" in await completed("pipeline", "wa")
    assert await completed("job", "log", "bu", PERDURE_SERVER="http://127.0.0.1:1") == ""


async def test_output_that_nobody_reads_any_more_is_no_error(site: Site, shell: Shell) -> None:
    job = await job_with_log(site, b"x" * 2_000_000)
    process = await shell.start("job", "log", str(job))
    assert process.stdout is not None
    await process.stdout.read(10)
    process.stdout._transport.close()  # type: ignore[attr-defined]
    assert process.stderr is not None
    err = await asyncio.wait_for(process.stderr.read(), 20)
    assert b"Traceback" not in err
    await process.wait()
