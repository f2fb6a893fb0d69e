"""A real nginx with a certificate: callers from outside speak TLS to it."""

import ssl
import subprocess
import sys
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web

from rigs.ports import free_port
from tests.certificates import self_signed
from tests.deploy.front import RENDER, Tls, api, front


@pytest.fixture
def tls(tmp_path: Path) -> Tls:
    """A certificate for this machine, signed by itself."""
    files = self_signed(tmp_path, "front")
    return Tls(free_port(), files.certificate, files.key)


async def test_calls_by_tls_reach_the_api_which_knows_that_they_came_so(tls: Tls, tmp_path: Path) -> None:
    async def handler(request: web.Request) -> web.Response:
        return web.Response(text=request.headers["X-Forwarded-Proto"])

    context = ssl.create_default_context(cafile=str(tls.certificate))
    async with (
        api(handler) as upstream,
        front(tmp_path / "front", upstream, tls=tls) as address,
        aiohttp.ClientSession() as session,
    ):
        async with session.get(f"https://127.0.0.1:{tls.port}/", ssl=context) as response:
            assert await response.text() == "https"
        async with session.get(f"{address}/") as response:
            assert await response.text() == "http"
        async with session.get(f"http://127.0.0.1:{tls.port}/") as response:
            assert response.status == 400


@pytest.mark.parametrize("missing", ["--tls", "--certificate", "--key"])
def test_a_port_a_certificate_and_a_key_go_together(tmp_path: Path, missing: str) -> None:
    given = {"--tls": "8443", "--certificate": "a.crt", "--key": "a.key"}
    words = [word for option, value in given.items() if option != missing for word in (option, value)]
    command = [sys.executable, str(RENDER), "--api", "127.0.0.1:1", *words, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, "--tls, --certificate and --key go together" in done.stderr) == (2, True)
