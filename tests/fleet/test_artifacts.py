"""Artifacts of whole jobs: what is handed on, what is taken over, and what happens when either fails."""

import gzip
import io
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fleet.job_run import JobRun
from tests.fleet.jobs import archive, payload
from tests.fleet.server import ProtocolServer, answer

MakeRun = Callable[..., JobRun]


def log(server: ProtocolServer, job_id: int = 1) -> str:
    return server.logs[job_id].decode()


def members(content: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(content)) as files:
        return {name: files.read(name) for name in files.namelist()}


async def test_artifacts(server: ProtocolServer, make_run: MakeRun) -> None:
    job = payload(
        ["mkdir -p out/sub", "echo a > out/a.txt", "echo b > out/sub/b.txt", "echo '<x/>' > junit.xml", "echo r > raw"],
        variables={"WHERE": "out"},
        artifacts=[
            archive("$WHERE/", "nothing*", exclude=["**/b.txt"], name="my-$WHERE"),
            archive("junit.xml", artifact_type="junit", artifact_format="gzip", name="junit.xml", when="always"),
            archive("raw", artifact_type="metrics", artifact_format="raw", name="raw"),
            archive("out/", when="on_failure"),
            archive("missing.txt", artifact_type="dotenv", artifact_format="gzip"),
        ],
    )
    await make_run(job).run()
    assert server.finals[1]["state"] == "success"
    zipped, report, raw = server.uploads[1]
    assert zipped.filename == "my-out.zip"
    assert members(zipped.content) == {"out/": b"", "out/a.txt": b"a\n", "out/sub/": b""}
    assert zipped.query == {"artifact_type": "archive", "artifact_format": "zip", "expire_in": "1 day"}
    assert (report.filename, gzip.decompress(report.content)) == ("junit.xml.gz", b"<x/>\n")
    assert (raw.filename, raw.content) == ("raw", b"r\n")
    assert "WARNING: nothing*: no matching files" in log(server)
    assert "WARNING: missing.txt: no matching files" in log(server)
    assert ":upload_artifacts_on_success\r" in log(server)


async def test_artifacts_of_a_failed_job(server: ProtocolServer, make_run: MakeRun) -> None:
    job = payload(["touch a", "false"], artifacts=[archive("a", when="on_failure"), archive("a")])
    await make_run(job).run()
    assert len(server.uploads[1]) == 1
    assert server.finals[1]["exit_code"] == 1
    assert ":upload_artifacts_on_failure\r" in log(server)


@pytest.mark.parametrize("status", [403, 413])
async def test_refused_upload_fails_the_job(server: ProtocolServer, make_run: MakeRun, status: int) -> None:
    server.faults["upload"].append(answer(status))
    await make_run(payload(["touch a"], artifacts=[archive("a")])).run()
    final = server.finals[1]
    assert (final["state"], final["failure_reason"]) == ("failed", "script_failure")
    assert f"status {status}" in log(server)


def zipped(**files: str) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as target:
        for name, content in files.items():
            target.writestr(name, content)
    return buffer.getvalue()


def dependency(job_id: int, filename: str = "artifacts.zip") -> dict[str, Any]:
    return {"id": job_id, "token": "t", "name": f"job {job_id}", "artifacts_file": {"filename": filename, "size": 1}}


async def test_dependencies(server: ProtocolServer, make_run: MakeRun) -> None:
    server.archives.update({5: zipped(a="from 5", b="from 5"), 6: zipped(b="from 6")})
    await make_run(payload(["cat a b"], dependencies=[dependency(5), dependency(6), dependency(7, "")])).run()
    assert "from 5from 6" in log(server)
    assert server.finals[1]["state"] == "success"


async def test_missing_dependency_fails_the_job(server: ProtocolServer, make_run: MakeRun) -> None:
    await make_run(payload(["echo ran"], dependencies=[dependency(5)])).run()
    assert server.finals[1]["failure_reason"] == "script_failure"
    assert "artifacts of job 5 (5): download failed with status 404" in log(server)
    assert "ran\n" not in log(server)


async def test_hostile_dependency_fails_the_job(server: ProtocolServer, make_run: MakeRun, tmp_path: Path) -> None:
    server.archives[5] = zipped(**{"../../../../../evil": "x"})
    await make_run(payload(dependencies=[dependency(5)])).run()
    assert server.finals[1]["state"] == "failed"
    assert not (tmp_path / "evil").exists()


async def test_untracked_artifacts(server: ProtocolServer, make_run: MakeRun) -> None:
    job = payload(["git init -q .", "touch new", "touch other"], artifacts=[archive(untracked=True, exclude=["other"])])
    await make_run(job).run()
    assert set(members(server.uploads[1][0].content)) == {"new"}
