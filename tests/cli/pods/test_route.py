"""`perdure route`."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from cli.exit_codes import ExitCode
from cli.pods.known_pods import known_pods
from domain.pods.directory import Directory, Pod
from domain.pods.directory_document import document_of
from domain.pods.routable_token import Route, spelled
from domain.pods.token_prefixes import PERSONAL, RUNNER
from tests.cli.running import run
from tests.pods.directory.process import DirectoryProcess

CLUSTER = Directory(
    3, (Pod(0, "default"), Pod(7, "seven", "10.0.0.7:8930")), organisations={"acme": 7}, moved={7 * 2**40: 0}
)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A directory of two pods."""
    path = tmp_path / "directory.json"
    path.write_text(json.dumps(document_of(CLUSTER)))
    return path


def of(pod: int, prefix: str = PERSONAL, **route: int) -> str:
    return spelled(prefix, Route(pod, **route), b"0123456789abcdef")


def told(file: Path, *words: str, stdin: bytes = b"") -> dict[str, Any]:
    """The JSON of a call that succeeds."""
    ran = run("route", "--directory", str(file), "--json", *words, stdin=stdin)
    assert (ran.code, ran.err) == (0, "")
    document: dict[str, Any] = json.loads(ran.out)
    return document


def test_a_token_a_header_and_an_address_lead_to_their_pod(file: Path) -> None:
    token = of(7, user_id=9, organisation_id=7 * 2**40 + 1)
    found = told(file, token)
    assert (found["goes"], found["pod"], found["name"], found["address"]) == ("pod", 7, "seven", "10.0.0.7:8930")
    assert found["token"] == {"organisation": 7 * 2**40 + 1, "user": 9}
    assert told(file, f"PRIVATE-TOKEN: {token}")["why"] == "private-token"
    assert (
        told(file, "https://ci.example/acme/app/-/pipelines?page=2")["why"]
        == "the organisation that the path begins with"
    )
    assert told(file, "-", "/api/v4/user", stdin=f"Authorization: Bearer {token}\n".encode())["pod"] == 7
    assert told(file, "-X", "post", "/api/v4/jobs/request", of(7, RUNNER, runner_type=1))["pod"] == 7


def test_what_goes_to_no_pod_says_why(file: Path) -> None:
    assert told(file, "-X", "POST", "/api/v4/jobs/request")["goes"] == "body"
    assert [told(file, path)["goes"] for path in ("/-/jwks", "/metrics")] == ["all", "router"]
    assert (told(file, of(7)[:-1] + "x")["status"], told(file, of(5))["status"]) == (401, 404)
    ran = run("route", "--directory", str(file), of(7)[:-1] + "x")
    assert ran.out == "to no pod: the router answers 401\n  because of token in the body: its checksum is wrong\n"


def test_a_trigger_goes_by_the_token_of_a_job_and_else_to_its_project(file: Path) -> None:
    path = "/api/v4/projects/acme%2Fapp/trigger/pipeline"
    found = told(file, "-X", "POST", path)
    assert (found["goes"], found["pod"], found["name"]) == ("body", 7, "seven")
    ran = run("route", "--directory", str(file), "-X", "POST", path)
    assert ran.out == (
        "to the pod that the token of a job in the body or query names; else to pod 7 (seven) at 10.0.0.7:8930\n"
        "  because of the token of a job in the body or query\n"
    )
    assert told(file, "-X", "POST", path, of(7, RUNNER, runner_type=1))["goes"] == "pod", "it is no job's"


def test_without_a_directory_there_is_this_pod(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PERDURE_HOME", str(tmp_path))
    monkeypatch.setenv("PERDURE_POD", "seven")
    monkeypatch.setenv("PERDURE_POD_NUMBER", "7")
    assert (
        run("route", of(7, project_id=3)).out
        == "to pod 7 (seven)\n  because of token in the body\n  the token is of project 3\n"
    )
    assert "there is no such pod" in run("route", of(0)).out


def test_the_directory_that_the_settings_name_is_asked_and_its_copy_where_it_is_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One start of the directory's process."""
    (tmp_path / "cluster").mkdir()
    process = DirectoryProcess(tmp_path / "cluster")
    asyncio.run(process.start())
    try:
        asyncio.run(add_pod(process))
        monkeypatch.setenv("PERDURE_HOME", str(tmp_path))
        monkeypatch.setenv("PERDURE_DIRECTORY_URL", process.url)
        monkeypatch.setenv("PERDURE_DIRECTORY_TOKEN", process.read)
        assert run("route", of(9)).out.startswith("to pod 9 (nine) at 10.0.0.9:8930\n")
        assert [pod.name for pod in known_pods(None)] == ["nine"]
        monkeypatch.setenv("PERDURE_DIRECTORY_TOKEN", "wrong")
        assert run("route", of(9)).code == ExitCode.AUTH
    finally:
        asyncio.run(process.kill())
    assert run("route", of(9)).code == ExitCode.UNREACHABLE
    (tmp_path / "directory.json").write_text(json.dumps(document_of(CLUSTER)))
    for token in ("wrong", ""):
        monkeypatch.setenv("PERDURE_DIRECTORY_TOKEN", token)
        assert run("route", of(7)).out.startswith("to pod 7 (seven) at 10.0.0.7:8930\n")
    (tmp_path / "directory.json").unlink()
    assert "PERDURE_DIRECTORY_TOKEN is not set" in run("route", of(7)).err


async def add_pod(process: DirectoryProcess) -> None:
    async with process.client() as admin:
        await admin.put_pod(9, name="nine", address="10.0.0.9:8930")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "cannot be read: No such file or directory."),
        ("{", "is no JSON: "),
        ("[]", "A directory is an object with moved, organisations, pods, version"),
        ('{"version": 1, "pods": 3}', "pods: must be a list."),
        ('{"version": 1, "pods": []}', "pods: A directory has at least one pod"),
        ('{"version": -1, "pods": []}', "version: must be a whole number from 0."),
        ('{"version": 1, "pods": [{"number": 8192, "name": "x"}]}', "pods[0].number: is 8192, 8191 at most."),
        ('{"version": 1, "pods": [{"number": 1, "name": ""}]}', "pods[0]: name must be a text"),
        ('{"version": 1, "pods": [{"number": 1}]}', "pods[0]: must be an object with number, name"),
        (
            '{"version": 1, "pods": [{"number": 1, "name": "x"}], "organisations": {"acme": 2}}',
            "organisations.acme: there is no pod 2 among pods.",
        ),
        (
            '{"version": 1, "pods": [{"number": 1, "name": "x"}], "organisations": 2}',
            "organisations: must be an object.",
        ),
        (
            '{"version": 1, "pods": [{"number": 1, "name": "x"}], "moved": {"acme": 1}}',
            "moved.acme: must be the id of an organisation.",
        ),
    ],
)
def test_a_directory_that_cannot_be_read_is_told_where(tmp_path: Path, content: str | None, message: str) -> None:
    file = tmp_path / "directory.json"
    if content is not None:
        file.write_text(content)
    ran = run("route", "--directory", str(file), "/")
    assert (ran.code, ran.out) == (2, "")
    assert str(file) in ran.err
    assert message in ran.err


def test_a_request_has_one_address_and_one_token(file: Path) -> None:
    for words in (("/a", "/b"), (of(7), of(0)), ("",)):
        assert run("route", "--directory", str(file), *words).code == 2
