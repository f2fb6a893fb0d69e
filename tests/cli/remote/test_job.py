"""`perdure job` against a server: reading, commands, logs, artifacts."""

import asyncio
import hashlib
import io
import json
import zipfile
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from unittest import mock

import pytest

from cli.remote.documents import ARTIFACT, DOWNLOAD, JOB, LOG_PART, REASON, schema
from storage.objects import ObjectStore
from tests.api.v4.site import Site
from tests.cli.remote.conftest import closing
from tests.cli.remote.matching import matches, matches_list
from tests.cli.remote.shell import Shell
from tests.cli.remote.test_pipeline import document
from tests.handed_in_steps import DONE, RUN, STEPS, hand_in, written
from tests.stamping import stamped

LOG = (
    b"section_start:1700000000:prepare\r\x1b[0K\x1b[36;1mPreparing\x1b[0;m\n"
    b"section_end:1700000010:prepare\r\x1b[0K"
    b"section_start:1700000010:script\r\x1b[0Kr\xc3\xbcn\r\n10%\r100%\n"
    b"\x1b]52;c;ZXZpbA==\x07\x1b[32mgreen\x1b[0m\n"
    b"section_end:1700000020:script\r\x1b[0Kdone\n"
)
TEXT = "Preparing\nrün\n10%\n100%\ngreen\ndone\n"
MANUAL = "go: {script: x, when: manual}\n"


async def job_with_log(site: Site, log: bytes = LOG, state: str = "success") -> int:
    """A job that has ended with this log."""
    await site.world.pipeline("build: {script: x}\n")
    job = await site.world.job()
    if log:
        assert (await site.world.patch(job, 0, log)).status_code == 202
    assert (await site.world.put(job, state, log)).status_code == 200
    return int(job["id"])


async def test_jobs_are_listed_shown_and_explained(site: Site, shell: Shell) -> None:
    pipeline = await site.world.pipeline()
    listed = await document(shell, "job", "list", "--status", "pending", "--since", "1h")
    assert matches_list(listed, schema(JOB))
    assert [one["name"] for one in listed] == ["build"]
    shown = await document(shell, "job", "show", "build")
    assert matches(shown, schema(JOB))
    assert (shown["pipeline_id"], shown["attempt"], shown["status"]) == (pipeline, 1, "pending")
    by_page = await document(shell, "job", "show", shown["web_url"])
    assert by_page["id"] == shown["id"]
    assert matches(await document(shell, "job", "why", "build"), schema(REASON))
    of_pipeline = await document(shell, "job", "list", "--pipeline", str(pipeline))
    assert [one["name"] for one in of_pipeline] == ["build", "check"]
    old = await document(shell, "job", "list", "--since", "2999-01-01")
    assert old == []


async def test_the_address_of_a_pipeline_is_no_job(site: Site, shell: Shell) -> None:
    pipeline = await site.world.pipeline()
    url = (await document(shell, "pipeline", "show", str(pipeline)))["web_url"]
    done = await shell("job", "show", url)
    assert (done.code, "/-/jobs/NUMBER" in done.err) == (2, True)


async def test_a_manual_job_is_played_with_variables(site: Site, shell: Shell) -> None:
    site.connect_temporal()
    await site.world.pipeline(MANUAL)
    played = await document(shell, "job", "play", "go", "--var", "WHERE=here")
    assert played["status"] == "pending"
    again = await shell("job", "play", "go")
    assert (again.code, "Unplayable" in again.err) == (1, True)
    wrong = await shell("job", "play", "go", "--var", "WHERE")
    assert (wrong.code, "NAME=VALUE" in wrong.err) == (2, True)
    canceled = await document(shell, "job", "cancel", str(played["id"]))
    assert canceled["status"] == "canceled"
    retried = await shell("job", "retry", str(played["id"]))
    assert retried.code in {0, 1}, retried.err


async def test_a_job_is_retried_from_a_step_on(site: Site, shell: Shell) -> None:
    site.connect_temporal()
    pipeline = await site.world.pipeline(RUN)
    job = await site.world.job()
    await hand_in(site.services.database, site.services.store, job["id"], written(*STEPS))
    await site.world.put(job, "failed", failure_reason="script_failure")
    await site.world.settle(pipeline)
    for asked, said in (
        ("shuot", "did you mean `shout`? Its steps are hello (1), shout (2), whisper (3)."),
        ("", "from_step is a step of the job's `run`"),
    ):
        refused = await shell("job", "retry", "work", "--from-step", asked)
        assert (refused.code, said in refused.err) == (2, True), refused.err
    retried = await document(shell, "job", "retry", "work", "--from-step", "3")
    assert (retried["attempt"], retried["name"]) == (2, "work")
    await site.world.settle(pipeline)
    assert (await site.world.job())["steps_resume"] == {"from": "whisper", "done": DONE}


async def test_a_job_with_a_question_is_played_by_whoever_says_yes(site: Site, shell: Shell) -> None:
    site.connect_temporal()
    pipeline = await site.world.pipeline("go: {script: x, when: manual, manual_confirmation: Ship it?}\n")
    async with site.client(site.root) as client:
        (listed,) = (await client.get(f"/api/v4/projects/1/pipelines/{pipeline}/jobs")).json()
        shown = (await client.get(f"/api/v4/projects/1/jobs/{listed['id']}")).json()
    assert listed["manual_confirmation"] == shown["manual_confirmation"] == "Ship it?"
    refused = await shell("job", "play", "go")
    assert (refused.code, "Ship it? Nobody can be asked here; to say yes add `--yes`." in refused.err) == (2, True)
    with closing(shell.terminal("job", "play", "go")) as terminal:
        await terminal.until("Ship it? [y/N]")
        terminal.write("n\n")
        assert await terminal.end() == 1
    assert (await document(shell, "job", "show", "go"))["status"] == "manual", "nobody said yes"
    assert (await document(shell, "job", "play", "go", "--yes"))["status"] == "pending"


async def test_playing_a_job_before_its_turn_tells_what_it_waits_for(site: Site, shell: Shell) -> None:
    site.connect_temporal()
    await site.world.pipeline("build: {stage: build, script: x}\ngo: {script: x, when: manual}\n")
    done = await shell("job", "play", "go")
    assert (done.code, "It waits for stage build: build (pending or running)." in done.err) == (1, True), done.err


async def test_a_log_in_a_pipe_is_plain_text(site: Site, shell: Shell) -> None:
    job = await job_with_log(site)
    assert (await shell("job", "log", str(job))).out == TEXT
    code, out, _ = await shell.process("job", "log", str(job), "--raw")
    assert (code, out) == (0, LOG)


async def test_a_log_as_json_lines(site: Site, shell: Shell) -> None:
    job = await job_with_log(site)
    done = await shell("job", "log", str(job), "--json")
    parts = [json.loads(line) for line in done.out.splitlines()]
    assert matches_list(parts, schema(LOG_PART))
    assert "".join(part["text"] for part in parts).encode() == LOG
    assert (await shell("job", "log", str(job), "--json", "--raw")).code == 2


@pytest.mark.parametrize(("lines", "text"), [(0, ""), (1, "done\n"), (2, "green\ndone\n"), (99, TEXT)])
async def test_the_last_lines_of_a_log(site: Site, shell: Shell, lines: int, text: str) -> None:
    job = await job_with_log(site)
    assert (await shell("job", "log", str(job), "--tail", str(lines))).out == text


async def test_the_last_lines_of_a_long_log(site: Site, shell: Shell) -> None:
    log = b"".join(b"%06d %s\n" % (number, b"x" * 200) for number in range(3_000))
    job = await job_with_log(site, log)
    done = await shell("job", "log", str(job), "--tail", "1000")
    assert done.out.encode() == log[-1000 * 208 :]


async def test_a_log_since_a_moment(site: Site, shell: Shell) -> None:
    job = await job_with_log(site)
    assert (await shell("job", "log", str(job), "--since", "2023-11-14T22:13:25Z")).out == TEXT.partition("\n")[2]
    assert (await shell("job", "log", str(job), "--since", "1h")).out == ""
    now = datetime.now(UTC)
    stamped = b"".join(
        f"{(now - timedelta(minutes=ago)).isoformat().removesuffix('+00:00')}Z 00O {ago}\n".encode()
        for ago in (9, 5, 1)
    )
    other = await job_with_log(site, stamped)
    assert (await shell("job", "log", str(other), "--since", "6m")).out == "5\n1\n"
    untimed = await job_with_log(site, b"no time\n")
    done = await shell("job", "log", str(untimed), "--since", "6m")
    assert (done.code, "--tail" in done.err) == (2, True)


async def test_a_log_with_stamps_is_printed_without_them(site: Site, shell: Shell) -> None:
    log = stamped(b"begin\n", b"10%\r", b"20%\r", b"done\n", b"end\n")
    job = str(await job_with_log(site, log))
    assert (await shell("job", "log", job, "--tail", "2")).out == "10%\n20%\ndone\nend\n"
    assert (await shell("job", "log", job, "-f")).out == "begin\n10%\n20%\ndone\nend\n"


async def test_a_job_without_log_has_an_empty_one(site: Site, shell: Shell) -> None:
    job = await job_with_log(site, b"")
    for words in ((), ("--tail", "3"), ("-f",)):
        done = await shell("job", "log", str(job), *words)
        assert (done.code, done.out) == (0, ""), done.err


async def test_a_log_that_is_followed_ends_as_the_job_does(site: Site, shell: Shell) -> None:
    good = await shell("job", "log", str(await job_with_log(site)), "-f")
    assert (good.code, good.out) == (0, TEXT)
    bad = await shell("job", "log", str(await job_with_log(site, state="failed")), "-f", "--tail", "1")
    assert (bad.code, bad.out) == (1, "done\n")


@pytest.mark.slow
async def test_a_job_that_never_ran_has_no_log_to_wait_for(site: Site, shell: Shell) -> None:
    site.connect_temporal()
    await site.world.pipeline()
    following = await shell.start("job", "log", "build", "-f", "--timeout", "50s")
    assert following.stderr is not None
    assert b"its log follows when it runs" in await asyncio.wait_for(following.stderr.readline(), 20)
    done = await shell("job", "cancel", "build")
    assert done.code == 0, done.err
    assert await asyncio.wait_for(following.communicate(), 40) == (b"", mock.ANY)
    assert following.returncode == 1
    ended = await shell("job", "log", "build", "-f")
    assert (ended.code, ended.out, "never ran" in ended.err) == (1, "", True)


async def test_following_ends_with_the_time_limit(site: Site, shell: Shell) -> None:
    await site.world.pipeline()
    done = await shell("job", "log", "build", "-f", "--timeout", "1s")
    assert done.code == 124
    assert "did not end within 1 s" in done.err
    assert (await shell("job", "log", "build", "-f", "--timeout", "soon")).code == 2


def archive(files: dict[str, bytes]) -> bytes:
    """An archive without compression."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as target:
        for name, content in files.items():
            target.writestr(name, content)
    return packed.getvalue()


async def job_with_artifacts(site: Site, content: bytes) -> int:
    """A job that has handed in this archive."""
    await site.world.pipeline("build: {script: x, artifacts: {paths: [out]}}\n")
    job = await site.world.job()
    response = await site.world.upload(job, content, artifact_format="zip", artifact_type="archive")
    assert response.status_code == 201, response.text
    return int(job["id"])


async def test_artifacts_whole_listed_and_one_by_one(site: Site, shell: Shell) -> None:
    content = archive({"out/a.txt": b"one", "out/b b.txt": b"two"})
    job = str(await job_with_artifacts(site, content))
    done = await document(shell, "job", "artifacts", job)
    assert matches(done, schema(DOWNLOAD))
    assert (shell.folder / "artifacts.zip").read_bytes() == content
    assert done["sha256"] == hashlib.sha256(content).hexdigest()
    assert matches_list(await document(shell, "job", "artifacts", job, "--list"), schema(ARTIFACT))
    one = await shell("job", "artifacts", job, "--path", "out/b b.txt")
    assert (one.code, (shell.folder / "b b.txt").read_bytes()) == (0, b"two")
    code, out, _ = await shell.process("job", "artifacts", job, "--path", "out/a.txt", "-o", "-")
    assert (code, out) == (0, b"one")
    missing = await shell("job", "artifacts", job, "--path", "none")
    assert (missing.code, "--list" in missing.err) == (3, True)
    there = await shell("job", "artifacts", job)
    assert (there.code, "--yes" in there.err) == (1, True)
    assert (await shell("job", "artifacts", job, "--yes")).code == 0


def part_of(shell: Shell, job: int) -> Path:
    """Where a download that is not whole lies."""
    return shell.folder / f".artifacts.zip.{job}.part"


async def test_a_download_goes_on_where_it_was_cut_off(
    site: Site, shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = archive({"out/a": bytes(range(256)) * 4000})
    job = await job_with_artifacts(site, content)
    part_of(shell, job).write_bytes(content[:700_000])
    read: list[tuple[int, int | None]] = []
    original = ObjectStore.read

    def reading(self: ObjectStore, key: str, start: int = 0, end: int | None = None) -> AsyncIterator[bytes]:
        read.append((start, end))
        return original(self, key, start, end)

    with monkeypatch.context() as patched:
        patched.setattr(ObjectStore, "read", reading)
        done = await shell("job", "artifacts", str(job))
    assert done.code == 0, done.err
    assert read == [(700_000, len(content))]
    assert (shell.folder / "artifacts.zip").read_bytes() == content
    assert not part_of(shell, job).exists()


@pytest.mark.parametrize("left", ["whole", "other", "longer"])
async def test_what_was_left_is_compared_before_it_counts(site: Site, shell: Shell, left: str) -> None:
    content = archive({"out/a": b"x" * 50_000})
    job = await job_with_artifacts(site, content)
    wrong = {"whole": content, "other": b"?" * 1000, "longer": content + b"more"}
    part_of(shell, job).write_bytes(wrong[left])
    done = await shell("job", "artifacts", str(job))
    assert done.code == 0, done.err
    assert (shell.folder / "artifacts.zip").read_bytes() == content


async def test_why_says_what_it_means_that_a_job_failed_before_it_ran(site: Site, shell: Shell) -> None:
    await site.world.pipeline("one: {script: x, environment: review/$NOBODY}\n")
    assert (await site.world.request()).status_code == 204
    says = "Its environment has no valid name after the variables were put in; change environment:name."
    assert f"    {says}\n" in (await shell("job", "why", "one")).out
    assert f"    {says}\n" in (await shell("pipeline", "why")).out
