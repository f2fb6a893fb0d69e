"""Whole jobs in real bash: what the server gets, whatever happens on the way."""

import asyncio
import socket
import stat
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from fleet import reachable
from fleet.executors.survivors import find_survivors
from fleet.executors.workspace import Slot
from fleet.job_run import JobRun
from fleet.state import JobStore
from fleet.stop import Cause
from tests.fleet.conftest import LIMITS
from tests.fleet.jobs import archive, payload
from tests.fleet.repository import Repository
from tests.fleet.server import ProtocolServer, answer

MakeRun = Callable[..., JobRun]

WAIT = "trap 'echo cleaned; exit 1' TERM; touch started; echo waiting; while :; do sleep 0.02; done"
"""A script that says when it runs and ends on SIGTERM only."""


def log(server: ProtocolServer, job_id: int = 1) -> str:
    return server.logs[job_id].decode()


async def test_a_good_job(server: ProtocolServer, make_run: MakeRun, store: JobStore) -> None:
    await make_run(payload(["echo hello | tr a-z A-Z", "pwd"])).run()
    assert server.updates[1][0]["state"] == "running"
    final = server.finals[1]
    assert final["state"] == "success"
    assert not {"exit_code", "failure_reason"} & final.keys()
    assert final["output"]["bytesize"] == len(server.logs[1])
    text = log(server)
    assert "\x1b[32;1m$ echo hello | tr a-z A-Z\x1b[0;m\nHELLO\n" in text
    assert "Job succeeded" in text
    for section in ("prepare_executor", "get_sources", "step_script"):
        assert f":{section}\r" in text
    assert store.load() == []
    assert list(store.logs.iterdir()) == []


async def test_the_first_failing_command_ends_the_script(server: ProtocolServer, make_run: MakeRun) -> None:
    await make_run(payload(["echo before", "(exit 7) | cat", "echo after"])).run()
    final = server.finals[1]
    assert (final["state"], final["failure_reason"], final["exit_code"]) == ("failed", "script_failure", 7)
    assert "before\n" in log(server)
    assert "\nafter\n" not in log(server)
    assert "exit status 7" in log(server)


async def test_inputs_are_put_in_before_anything_runs(server: ProtocolServer, make_run: MakeRun) -> None:
    inputs = [{"key": "who", "value": {"type": "string", "content": "fred", "sensitive": False}}]
    await make_run(payload(["echo hello ${{ job.inputs.who }}"], inputs=inputs)).run()
    assert server.finals[1]["state"] == "success"
    assert "\x1b[32;1m$ echo hello fred\x1b[0;m\nhello fred\n" in log(server)


async def test_inputs_that_cannot_be_put_in_fail_the_job(server: ProtocolServer, make_run: MakeRun) -> None:
    inputs = [{"key": "who", "value": {"type": "string", "content": "fred", "sensitive": False}}]
    script = ["echo ran", "echo ${{ job.inputs.whom }}"]
    await make_run(payload(script, inputs=inputs, after_script=["echo after"])).run()
    final = server.finals[1]
    assert (final["state"], final["failure_reason"]) == ("failed", "script_failure")
    assert "cannot be put into 'echo ${{ job.inputs.whom }}': there is no `whom`; there are: who" in log(server)
    assert "ran\n" not in log(server)
    assert "after\n" not in log(server)


async def test_a_script_ended_by_a_signal(server: ProtocolServer, make_run: MakeRun) -> None:
    await make_run(payload(["kill -9 $$"])).run()
    assert server.finals[1]["exit_code"] == 137


async def test_environment(server: ProtocolServer, make_run: MakeRun, slot: Slot) -> None:
    show = 'echo "[$CI_PROJECT_DIR][$CI_BUILDS_DIR][$CI_CONCURRENT_ID][$CI_SERVER][$CI_JOB_STATUS][$EXPANDED][$RAW]"'
    job = payload(
        [show, 'cat "$FILE"', 'stat -c %a "$FILE"', "env | sort | grep '^BAD' || true"],
        variables={"EXPANDED": "$CI-$$-$NOPE", "BAD.NAME": "x"},
        extra_variables=[
            {"key": "RAW", "value": "$CI", "raw": True},
            {"key": "FILE", "value": "line 1\nline 2\n", "file": True},
        ],
    )
    await make_run(job).run()
    folder = slot.builds_dir / "abcdefghi/0/project-1-empty"
    assert f"[{folder}][{slot.builds_dir}][0][yes][running][true-$-][$CI]\n" in log(server)
    assert "line 1\nline 2\n" in log(server)
    assert "\n600\n" in log(server)
    assert "variable 'BAD.NAME' is left out" in log(server)
    assert not list(folder.parent.glob("*.tmp"))


async def test_secrets_are_masked(server: ProtocolServer, make_run: MakeRun) -> None:
    job = payload(
        ['printf "%s" "${SECRET:0:5}"; sleep 0.05; echo "${SECRET:5}"', "echo $SECRET", "echo glpat-abcdef", "echo $T"],
        extra_variables=[{"key": "SECRET", "value": "hunter2-hunter2", "masked": True}],
        variables={"T": "glcbt-1-secret"},
    )
    await make_run(job).run()
    text = log(server)
    assert server.finals[1]["state"] == "success"
    assert "hunter2" not in text
    assert "glpat-abcdef" not in text
    assert "glcbt-1-secret" not in text
    assert text.count("[MASKED]\n") >= 4


async def test_multi_line_commands_are_shown_by_their_first_line(server: ProtocolServer, make_run: MakeRun) -> None:
    await make_run(payload(["if true; then\n  echo inside\nfi", "cat <<'EOF'\ntext\nEOF"])).run()
    assert "$ if true; then # collapsed multi-line command" in log(server)
    assert "inside\n" in log(server)
    assert "text\n" in log(server)


@pytest.mark.parametrize(("command", "status"), [("true", "success"), ("false", "failed")])
async def test_after_script(server: ProtocolServer, make_run: MakeRun, command: str, status: str) -> None:
    job = payload(["X=1", command], after_script=['echo "after [$CI_JOB_STATUS][${X:-unset}]"', "exit 3"])
    await make_run(job).run()
    assert f"after [{status}][unset]" in log(server)
    assert server.finals[1]["state"] == status
    assert "after_script failed with exit status 3" in log(server)


async def test_after_script_has_its_own_limit(server: ProtocolServer, make_run: MakeRun) -> None:
    limits = replace(LIMITS, stages=replace(LIMITS.stages, after_script=0.2))
    await make_run(payload(["true"], after_script=["sleep 1000"]), limits).run()
    assert server.finals[1]["state"] == "success"
    assert "after_script was ended" in log(server)


async def test_timeout(server: ProtocolServer, make_run: MakeRun) -> None:
    job = payload(["setsid sleep 1000 & echo begun", "sleep 1000"], after_script=["echo after"])
    job["runner_info"]["timeout"] = 1
    run = make_run(job)
    await run.run()
    final = server.finals[1]
    assert (final["state"], final["failure_reason"]) == ("failed", "job_execution_timeout")
    assert "exit_code" not in final
    assert "took longer than 1 seconds" in log(server)
    assert "after\n" in log(server)
    assert find_survivors(run._record.mark) == []


async def test_taken_back_before_it_starts(server: ProtocolServer, make_run: MakeRun, store: JobStore) -> None:
    for fault in (answer(403), answer(404), answer(200, Job_Status="canceled")):
        server.faults["update"].append(fault)
        await make_run(payload(["touch /nowhere/x"])).run()
    assert len(server.seen) == 3
    assert store.load() == []


async def test_odd_answers_to_the_acceptance_do_not_lose_the_job(server: ProtocolServer, make_run: MakeRun) -> None:
    server.status[1] = "running"
    server.faults["update"].append(answer(409))
    await make_run(payload()).run()
    assert server.finals[1]["state"] == "success"


async def test_canceling_stops_the_script_and_runs_the_rest(server: ProtocolServer, make_run: MakeRun) -> None:
    job = payload([WAIT], after_script=['echo "after [$CI_JOB_STATUS]"'], artifacts=[archive("started", when="always")])
    task = asyncio.create_task(make_run(job).run())
    await server.until(lambda: b"waiting" in server.logs[1])
    server.status[1] = "canceling"
    await asyncio.wait_for(task, 20)
    assert server.status[1] == "canceled"
    assert server.finals[1]["failure_reason"] == "job_canceled"
    assert "cleaned\n" in log(server)
    assert "after [canceled]" in log(server)
    assert len(server.uploads[1]) == 1


async def test_canceling_at_the_acceptance_runs_nothing(server: ProtocolServer, make_run: MakeRun, slot: Slot) -> None:
    server.status[1] = "canceling"
    await make_run(payload(["echo ran"])).run()
    assert server.finals[1]["failure_reason"] == "job_canceled"
    assert "ran\n" not in log(server)


@pytest.mark.parametrize("status", ["canceled", "failed"])
async def test_abort_ends_everything_at_once(
    server: ProtocolServer, make_run: MakeRun, store: JobStore, status: str
) -> None:
    run = make_run(payload([WAIT], after_script=["echo after"]))
    task = asyncio.create_task(run.run())
    await server.until(lambda: b"waiting" in server.logs[1])
    server.status[1] = status
    await asyncio.wait_for(task, 20)
    assert 1 not in server.finals
    assert find_survivors(run._record.mark) == []
    assert store.load() == []


async def test_interrupted(server: ProtocolServer, make_run: MakeRun) -> None:
    run = make_run(payload([WAIT], after_script=["echo after"]))
    task = asyncio.create_task(run.run())
    await server.until(lambda: b"waiting" in server.logs[1])
    run.stop.order(Cause.INTERRUPTED)
    await asyncio.wait_for(task, 20)
    assert server.finals[1]["failure_reason"] == "unknown_failure"
    assert "after\n" not in log(server)


async def test_interrupted_before_the_uploads_is_no_success(server: ProtocolServer, make_run: MakeRun) -> None:
    run = make_run(payload(["touch a"], after_script=[WAIT], artifacts=[archive("a")]))
    task = asyncio.create_task(run.run())
    await server.until(lambda: b"waiting" in server.logs[1])
    run.stop.order(Cause.INTERRUPTED)
    await asyncio.wait_for(task, 20)
    assert server.finals[1]["state"] == "failed"
    assert server.uploads[1] == []


async def test_a_server_restart_in_the_middle(server: ProtocolServer, make_run: MakeRun, slot: Slot) -> None:
    script = ["echo one", "while [ ! -e go ]; do sleep 0.02; done", "echo two"]
    task = asyncio.create_task(make_run(payload(script)).run())
    await server.until(lambda: b"one\n" in server.logs[1])
    await server.stop()
    (slot.builds_dir / "abcdefghi/0/project-1-empty/go").touch()
    await server.start()
    await asyncio.wait_for(task, 20)
    assert server.finals[1]["state"] == "success"
    assert "one\n" in log(server)
    assert "two\n" in log(server)


async def test_a_job_that_cannot_be_placed_is_failed(server: ProtocolServer, make_run: MakeRun) -> None:
    await make_run(payload(variables={"GIT_STRATEGY": "teleport"})).run()
    assert server.finals[1]["failure_reason"] == "runner_system_failure"
    assert "GIT_STRATEGY 'teleport' is not known" in log(server)


async def test_git_that_fails_is_tried_again_and_then_told(
    server: ProtocolServer, make_run: MakeRun, tmp_path: Path
) -> None:
    info = {"repo_url": (tmp_path / "no.git").as_uri(), "ref": "main", "sha": "1" * 40, "refspecs": ["+refs/*:refs/*"]}
    await make_run(payload(variables={"GIT_STRATEGY": "fetch"}, git_info=info)).run()
    assert server.finals[1]["failure_reason"] == "runner_system_failure"
    assert log(server).count("trying again") == 2


async def test_sources_are_fetched_when_their_server_is_back(
    server: ProtocolServer, make_run: MakeRun, repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks, look = [], reachable._accepts

    async def noted(host: str, port: int) -> bool:
        looks.append(await look(host, port))
        return looks[-1]

    monkeypatch.setattr(reachable, "_accepts", noted)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    refspecs = ["+refs/heads/main:refs/remotes/origin/main"]
    info = {
        "repo_url": f"http://127.0.0.1:{port}/repo.git",
        "ref": "main",
        "sha": repository.second,
        "refspecs": refspecs,
    }
    limits = replace(LIMITS, stages=replace(LIMITS.stages, source_pause=0.0))
    running = asyncio.create_task(
        make_run(payload(["cat file"], variables={"GIT_STRATEGY": "fetch"}, git_info=info), limits).run()
    )
    await server.until(lambda: len(looks) == 2 or running.done())
    application = web.Application()
    application.router.add_static("/", repository.path.parent)
    serving = web.AppRunner(application)
    await serving.setup()
    try:
        await web.TCPSite(serving, "127.0.0.1", port).start()
        await running
    finally:
        await serving.cleanup()
    assert server.finals[1]["state"] == "success"
    assert log(server).count("trying again") == 1


async def test_none_keeps_the_folder(server: ProtocolServer, make_run: MakeRun) -> None:
    for job_id in (1, 2):
        job = payload(["cat kept || echo new > kept"], job_id=job_id, variables={"GIT_STRATEGY": "none"})
        await make_run(job).run()
    assert "new\n" in log(server, 2)


async def test_log_limit(server: ProtocolServer, make_run: MakeRun) -> None:
    await make_run(payload(["head -c 100000 /dev/zero"]), replace(LIMITS, output=5000)).run()
    assert len(server.logs[1]) < 7000
    assert "exceeded limit of 5000 bytes" in log(server)
    assert server.finals[1]["state"] == "success"


async def test_the_records_on_disk_are_private(server: ProtocolServer, make_run: MakeRun, store: JobStore) -> None:
    task = asyncio.create_task(make_run(payload([WAIT])).run())
    await server.until(lambda: b"waiting" in server.logs[1])
    files = [*store.jobs.iterdir(), *store.logs.iterdir()]
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}
    server.status[1] = "canceled"
    await asyncio.wait_for(task, 20)


UNABLE: dict[str, Any] = {
    "image": {"name": "registry.example.com/ruby:$VERSION"},
    "services": [{"name": "postgres:16"}, {"name": "redis"}],
    "cache": [{"key": "k", "untracked": True}],
}


async def test_the_log_begins_with_what_is_left_out_of_the_job(server: ProtocolServer, make_run: MakeRun) -> None:
    await make_run(payload(["echo ran"], variables={"VERSION": "3.3"}, **UNABLE)).run()
    assert server.finals[1]["state"] == "success"
    text = log(server)
    head = text.partition(":prepare_executor\r")[2].partition(":get_sources\r")[0]
    said = [line.partition("WARNING: ")[2].partition("\x1b")[0] for line in head.splitlines() if "WARNING" in line]
    image, *others = said
    assert image.startswith(
        "image: this runner has no containers; registry.example.com/ruby:3.3 is not used, scripts run on this machine ("
    )
    assert " bash " in image
    assert others == [
        "services: this runner has no containers; not started: postgres:16, redis",
        "cache: this runner keeps no caches; nothing is restored or saved",
    ]


@pytest.mark.parametrize("keyword", UNABLE)
async def test_a_runner_may_refuse_what_it_cannot_do(server: ProtocolServer, make_run: MakeRun, keyword: str) -> None:
    limits = replace(LIMITS, unsupported="refuse")
    features = {"failure_reasons": ["runner_unsupported"]}
    job = payload(
        ["echo ran"],
        after_script=["echo after"],
        artifacts=[archive("left", when="always")],
        features=features,
        **{keyword: UNABLE[keyword]},
    )
    await make_run(job, limits).run()
    await make_run(payload(["echo ran"], 2), limits).run()
    assert (server.finals[1]["state"], server.finals[1]["failure_reason"]) == ("failed", "runner_unsupported")
    assert f"ERROR: {keyword}: this runner " in log(server)
    assert "Uploading" not in log(server)
    assert not {"ran\n", "after\n"} & {line + "\n" for line in log(server).splitlines()}
    assert server.finals[2]["state"] == "success"


async def test_a_job_has_a_home_of_its_own_and_leaves_none(
    server: ProtocolServer, make_run: MakeRun, slot: Slot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What one job writes there (an alias of git, a line of a profile) would run in the next one, whoever's that is.

    Only jobs that are simply their runner's user have that user's. What is wrong here must not write to ours.
    """
    monkeypatch.setenv("HOME", str(tmp_path))
    if slot.rights is None:
        await make_run(payload(['echo "home is $HOME"'])).run()
        assert f"\nhome is {tmp_path}\n" in log(server)
        return
    script = ['test ! -e "$HOME/.gitconfig" && echo nothing there', "git config --global user.name Ada"]
    script += ["git config user.name", 'echo "home is $HOME"', 'stat -c "closed: %a" "$HOME"']
    for job_id in (1, 2):
        await make_run(payload(script, job_id)).run()
        assert server.finals[job_id]["state"] == "success", server.logs[job_id]
        text = server.logs[job_id].decode()
        assert ("\nnothing there\n" in text, "\nAda\n" in text, "\nclosed: 700\n" in text) == (True, True, True), text
        home = Path(text.split("\nhome is ")[1].split("\n")[0])
        assert home.is_relative_to(slot.builds_dir)
        assert not await asyncio.to_thread(home.exists)


async def test_whoever_gives_a_job_a_home_by_a_variable_is_heeded(server: ProtocolServer, make_run: MakeRun) -> None:
    job = payload(['echo "home is $HOME"'])
    job["variables"].append({"key": "HOME", "value": "/", "public": True, "masked": False, "raw": True})
    await make_run(job).run()
    assert "\nhome is /\n" in server.logs[1].decode()
