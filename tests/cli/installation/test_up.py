"""`perdure up`, `status` and `down` with a stand-in for the API."""

import json
import os
import signal
import socket
import subprocess
import sys
import urllib.request
from dataclasses import replace
from pathlib import Path

import pytest

from cli.installation.up import pipelines_view
from fleet.config import load_config
from pods.process import is_alive
from pods.run_folder import SUPERVISOR, RunFolder
from settings import Settings
from tests.cli.conftest import Perdure
from tests.waiting import HANGS, until


def pids(perdure: Perdure) -> dict[str, int]:
    """Name and pid of every living child."""
    folder = RunFolder(perdure.home)
    records = [folder.read(name) for name in ("front", "api", "runner")]
    return {record.name: record.pid for record in records if record and is_alive(record.identity)}


@pytest.mark.slow
def test_up_status_kill_up_down(perdure: Perdure) -> None:
    up = perdure("up", "--json")
    assert up.returncode == 0, up.stderr
    logs = str(perdure.home / "logs")
    assert json.loads(up.stdout) == {
        "url": perdure.url,
        "temporal_ui": None,
        "temporal_pipelines": None,
        "logs": logs,
    }
    with urllib.request.urlopen(f"{perdure.url}/-/front/api") as response:
        assert response.status == 200

    status = perdure("status", "--json")
    found = json.loads(status.stdout)
    assert (status.returncode, found["running"], found["url"], found["temporal_ui"]) == (0, True, perdure.url, None)
    assert [child["name"] for child in found["children"]] == ["front", "api", "runner"]
    assert (found["jobs_as"], found["unsupported_keywords"]) == ("server", "run")
    shown = perdure("status").stdout
    assert "Jobs of the built-in runner run as the server's user" in shown
    assert "jobs that ask for image, services or cache run on this machine without" in shown
    assert all(child["alive"] and child["ready"] and child["since"] for child in found["children"])
    before = pids(perdure)
    assert {child["name"]: child["pid"] for child in found["children"]} == before

    config = perdure.home / "runner" / "config.toml"
    assert config.stat().st_mode & 0o777 == 0o600
    assert [(entry.url, entry.token) for entry in load_config(config).runners] == [(perdure.url, "glrt-stand-in")]

    # A second `up` changes nothing; with other settings it refuses instead of pretending.
    again = perdure("up")
    assert (again.returncode, again.stderr, pids(perdure)) == (0, "", before)
    assert again.stdout.startswith("Perdure was up already; nothing was started.\n")
    assert perdure.url in again.stdout

    # A server of before does not know yet of whose user jobs are: it is told, or a line says that it could not be.
    (perdure.home / "upgraded").touch()
    assert (perdure("up").stderr, (perdure.home / "upgraded").exists()) == ("", False)
    credentials = perdure.home / "credentials.json"
    known = credentials.read_text()
    credentials.unlink()
    warned = perdure("up")
    assert (warned.returncode, warned.stderr.count("\n"), "Warning: " in warned.stderr) == (0, 1, True)
    assert "could not be told" in perdure("status").stdout
    credentials.write_text(known)
    other = perdure("up", PERDURE_LONG_POLL="1")
    assert other.returncode == 1
    assert "PERDURE_LONG_POLL" in other.stderr

    # The wall clock is set, as when a machine wakes: all of it is still known.
    folder = RunFolder(perdure.home)
    for record in folder.all():
        folder.write(replace(record, create_time=record.create_time - 3600))
    assert perdure("status").returncode == 0
    again = perdure("up")
    assert (again.returncode, again.stderr, pids(perdure)) == (0, "", before)

    # The supervisor dies: the children live, and the next `up` adopts them.
    supervisor = folder.read(SUPERVISOR)
    assert supervisor is not None
    os.kill(supervisor.pid, signal.SIGKILL)
    until(lambda: not is_alive(supervisor.identity), HANGS)
    orphaned = perdure("status", "--json")
    assert (orphaned.returncode, json.loads(orphaned.stdout)["running"]) == (1, False)
    assert perdure("up").returncode == 0
    assert pids(perdure) == before

    # Down stops them also without a supervisor.
    adopter = folder.read(SUPERVISOR)
    assert adopter is not None
    os.kill(adopter.pid, signal.SIGKILL)
    records = [folder.read(name) for name in before]
    assert perdure("down", "--all").returncode == 0
    assert [is_alive(record.identity) for record in records if record] == [False] * 3
    assert (perdure.home / "credentials.json").exists()
    assert perdure("status").returncode == 1


@pytest.mark.slow
def test_down_leaves_the_front_to_hold_callers_until_up_takes_it_over(perdure: Perdure) -> None:
    """It costs two starts of everything: what is shown is that nothing is refused between them."""
    assert perdure("up").returncode == 0
    before = pids(perdure)
    stopped = perdure("down")
    assert stopped.returncode == 0
    for word in (f"pid {before['front']}", perdure.url, "590 s", "perdure up", "perdure down --all"):
        assert word in stopped.stderr
    assert pids(perdure) == {"front": before["front"]}
    status = perdure("status")
    assert status.returncode == 1
    assert "its front holds callers" in status.stdout
    again = perdure("down")
    assert "was not up" in again.stderr
    assert "--all" in again.stderr

    # Another setting than before is no hindrance: the front of now takes over from the one that was left.
    body = b"{}"
    with socket.create_connection(("127.0.0.1", perdure.front_port)) as held:
        head = f"POST /api/v4/jobs/7/artifacts HTTP/1.1\r\nHost: h\r\nContent-Length: {len(body)}\r\n\r\n"
        held.sendall(head.encode() + body)
        assert perdure("up", PERDURE_LONG_POLL="20").returncode == 0
        assert held.recv(64).startswith(b"HTTP/1.1 204 ")
    assert pids(perdure).keys() == {"front", "api", "runner"}
    assert pids(perdure)["front"] != before["front"]
    assert perdure("down", "--all").returncode == 0
    assert pids(perdure) == {}
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", perdure.front_port))


@pytest.mark.slow
def test_systemd_may_open_the_socket(perdure: Perdure) -> None:
    """A stack of its own: who connects before it is started waits for it, and nobody calls the port busy."""
    shim = (
        "import os, sys; os.dup2(int(sys.argv[1]), 3); os.environ.update(LISTEN_FDS='1', LISTEN_PID=str(os.getpid()));"
        " os.execv(sys.argv[2], sys.argv[2:])"
    )
    with socket.create_server(("127.0.0.1", perdure.front_port)) as listener:
        with socket.create_connection(("127.0.0.1", perdure.front_port)) as early:
            early.sendall(b"GET /-/front/health HTTP/1.1\r\nHost: h\r\n\r\n")
            argv = [sys.executable, "-c", shim, str(listener.fileno()), *perdure.command("up", "--foreground")]
            process = subprocess.Popen(
                argv, env=perdure.env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, pass_fds=[listener.fileno()]
            )
            assert process.stdout is not None
            assert perdure.url in process.stdout.readline().decode()
            assert early.recv(64).startswith(b"HTTP/1.1 200 ")
        process.terminate()
        process.communicate(timeout=30)
        assert process.returncode == 0
    assert pids(perdure) == {}


def test_busy_port_is_named_with_its_holder_and_its_setting(perdure: Perdure) -> None:
    with socket.create_server(("127.0.0.1", perdure.front_port)):
        up = perdure("up")
    assert up.returncode == 1
    assert up.stdout == ""
    for word in (f"Port {perdure.front_port}", "front", f"pid {os.getpid()}", "PERDURE_FRONT_PORT"):
        assert word in up.stderr
    assert not (perdure.home / "run" / "supervisor.json").exists()


@pytest.mark.slow
def test_part_that_does_not_answer_is_named_with_the_end_of_its_log(perdure: Perdure) -> None:
    perdure.home.mkdir()
    (perdure.home / "broken").touch()
    up = perdure("up", PERDURE_UP_TIMEOUT="2")
    assert up.returncode == 124
    assert f"api does not answer http://127.0.0.1:{perdure.api_port}/-/ready" in up.stderr
    assert "front does not" not in up.stderr
    assert "perdure down" in up.stderr


@pytest.mark.slow
def test_foreground_stays_until_it_is_told_to_end(perdure: Perdure) -> None:
    process = subprocess.Popen(
        perdure.command("up", "--foreground"), env=perdure.env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    assert process.stdout is not None
    assert perdure.url in process.stdout.readline().decode()
    assert perdure("up", "--foreground").returncode == 1
    process.terminate()
    process.communicate(timeout=30)
    assert process.returncode == 0
    assert perdure("status").returncode == 1


def test_status_of_a_home_that_is_down(perdure: Perdure) -> None:
    status = perdure("status")
    assert status.returncode == 1
    assert "is down" in status.stdout
    assert "\x1b[" not in status.stdout
    found = json.loads(perdure("status", "--json").stdout)
    assert (found["running"], found["jobs_as"], found["unsupported_keywords"]) == (False, None, None)
    assert [(child["pid"], child["alive"], child["ready"]) for child in found["children"]] == [(None, False, False)] * 2


def test_down_of_a_home_that_is_down_is_well(perdure: Perdure) -> None:
    assert perdure("down").returncode == 0


@pytest.mark.parametrize("name", ["PERDURE_FRONT_PORT", "PERDURE_LEASE_TICK", "PERDURE_FRONT_HOLD"])
def test_wrong_setting_is_a_usage_error_that_names_it(perdure: Perdure, name: str) -> None:
    status = perdure("status", **{name: "many"})
    assert status.returncode == 2
    assert status.stderr.startswith(f"Error: A setting is wrong. {name}: ")


def test_unknown_command_is_a_usage_error(perdure: Perdure) -> None:
    assert perdure("dance").returncode == 2


def test_the_pipelines_in_temporal_have_an_address(tmp_path: Path) -> None:
    """Without what delivers webhooks, reports and waits, of which there may be much more."""
    there = pipelines_view(Settings(home=tmp_path, temporal_ui_port=7, temporal_namespace="ours", temporal_address=""))
    assert there == "http://127.0.0.1:7/namespaces/ours/workflows?query=WorkflowType%3D%22Pipeline%22"
    assert pipelines_view(Settings(home=tmp_path, temporal_address="127.0.0.1:1")) is None
