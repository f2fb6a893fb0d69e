"""Where each process listens, for each kind of `PERDURE_HOST`: a whole `perdure up`, so each takes some seconds."""

from pathlib import Path

import httpx
import psutil
import pytest

from pods.loopback import near_front
from tests.faults.stack import Stack, running
from tests.waiting import HANGS

LOOPBACK = {"127.0.0.1"}

pytestmark = pytest.mark.slow


def listeners(stack: Stack, name: str) -> dict[int, set[str]]:
    """The addresses at which a child listens, by port."""
    found: dict[int, set[str]] = {}
    for connection in psutil.Process(stack.pid(name)).net_connections("tcp"):
        if connection.status == psutil.CONN_LISTEN:
            found.setdefault(connection.laddr.port, set()).add(connection.laddr.ip)
    return found


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.2", "0.0.0.0", "::"])
def test_front_and_api_listen_where_they_are_told_and_everything_else_on_the_loopback(
    tmp_path: Path, host: str
) -> None:
    with running(tmp_path / "home", {"PERDURE_HOST": host}) as stack:
        settings = stack.settings
        assert listeners(stack, "front") == {settings.front_port: {host}, settings.front_metrics_port: LOOPBACK}
        api = listeners(stack, "api")
        assert api[settings.api_port] == {host}
        assert api[settings.metrics_port] == api[settings.temporal_client_metrics_port] == LOOPBACK
        temporal = listeners(stack, "temporal")
        ports = (settings.temporal_port, settings.temporal_ui_port)
        assert temporal.keys() >= {*ports, settings.temporal_http_port, settings.temporal_metrics_port}
        assert set().union(*temporal.values()) == LOOPBACK
        assert {name for name in ("directory", "runner") if stack.runs(name) and listeners(stack, name)} == set()

        place = f"{near_front(settings)}/-/front/api"
        assert httpx.get(place, timeout=HANGS, trust_env=False).status_code == httpx.codes.OK
        status = stack.command("status")
        assert "✗" not in status
        assert "fail" not in stack.command("doctor", "--local")


def test_a_pod_beside_the_first_one_listens_there_too(tmp_path: Path) -> None:
    with running(tmp_path / "home", {"PERDURE_HOST": "127.0.0.2"}, "--pods", "2") as stack:
        assert {"127.0.0.2"} in listeners(stack, "api-pod-1").values()
        assert set().union(*listeners(stack, "directory").values()) == LOOPBACK
