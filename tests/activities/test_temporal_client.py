"""A Temporal that wants to know who calls: nginx before a real one asks for a certificate, or for a key."""

import asyncio
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError
from temporalio.api.workflowservice.v1 import DescribeNamespaceRequest
from temporalio.service import RPCError

from activities.temporal_client import connect
from domain.errors import Invalid
from pods.temporal_certificates import provide
from rigs.ports import free_port
from settings import Settings, TemporalAccess
from tests.certificates import self_signed
from tests.deploy.front import listening, nginx_binary
from tests.temporal import new_namespace, temporal_server

CONFIG = """
pid {folder}/nginx.pid;
events {{}}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    server {{
        listen 127.0.0.1:{port} ssl http2;
        ssl_certificate {folder}/server.crt;
        ssl_certificate_key {folder}/server.key;
        {asks}
        location / {{
            {checks}
            grpc_pass grpc://{temporal};
        }}
    }}
}}
"""


@pytest.fixture(scope="module")
async def temporal(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[str]:
    """Address of a server that asks nobody."""
    async with temporal_server(tmp_path_factory.mktemp("temporal")) as address:
        yield address


@asynccontextmanager
async def asking(folder: Path, temporal: str, *, asks: str = "", checks: str = "") -> AsyncIterator[str]:
    """The same server with TLS before it; its address."""
    port = free_port()
    config = folder / "nginx.conf"
    config.write_text(CONFIG.format(folder=folder, port=port, temporal=temporal, asks=asks, checks=checks))
    words = ["-e", str(folder / "error.log"), "-c", str(config), "-g", "daemon off;"]
    process = await asyncio.create_subprocess_exec(nginx_binary(), *words)
    try:
        await listening(port)
        yield f"127.0.0.1:{port}"
    finally:
        process.terminate()
        await process.wait()


async def is_let_in(address: str, namespace: str, access: TemporalAccess) -> bool:
    """Whether a client with this access reads the namespace."""
    settings = Settings(temporal_address=address, temporal_namespace=namespace, temporal_access=access)
    try:
        client = await connect(settings)
        request = DescribeNamespaceRequest(namespace=namespace)
        return (await client.workflow_service.describe_namespace(request)).namespace_info.name == namespace
    except (RuntimeError, RPCError):
        return False


async def test_a_certificate_is_shown_and_that_of_the_server_is_checked(temporal: str, tmp_path: Path) -> None:
    server, own, other = (self_signed(tmp_path, name) for name in ("server", "own", "other"))
    namespace = await new_namespace(temporal)
    asks = f"ssl_client_certificate {own.certificate}; ssl_verify_client on;"
    async with asking(tmp_path, temporal, asks=asks) as address:

        async def let_in(access: TemporalAccess) -> bool:
            return await is_let_in(address, namespace, access)

        pair: dict[str, Any] = {"tls_certificate": own.certificate, "tls_key": own.key}
        assert await let_in(TemporalAccess(tls_ca=server.certificate, **pair))
        assert not await let_in(TemporalAccess(tls_ca=other.certificate, **pair))
        assert not await let_in(TemporalAccess(tls=True, **pair))
        assert not await let_in(TemporalAccess(tls_ca=server.certificate))
        strange = TemporalAccess(tls_ca=server.certificate, tls_certificate=other.certificate, tls_key=other.key)
        assert not await let_in(strange)
        assert not await let_in(TemporalAccess())


async def test_certificates_of_the_container_set_let_in_whoever_has_them(temporal: str, tmp_path: Path) -> None:
    """As docker-compose.yml has them; there the server's name is that of its container."""
    own, other = made(tmp_path / "own"), made(tmp_path / "other")
    for kind in ("crt", "key"):
        shutil.copy(own / "server" / f"tls.{kind}", tmp_path / f"server.{kind}")
    namespace = await new_namespace(temporal)
    asks = f"ssl_client_certificate {own / 'server' / 'ca.crt'}; ssl_verify_client on;"
    async with asking(tmp_path, temporal, asks=asks) as address:

        async def let_in(folder: Path | None, ca: Path = own / "client" / "ca.crt", name: str = "temporal") -> bool:
            pair: dict[str, Any] = (
                {"tls_certificate": folder / "tls.crt", "tls_key": folder / "tls.key"} if folder else {}
            )
            return await is_let_in(address, namespace, TemporalAccess(tls_ca=ca, tls_server_name=name, **pair))

        assert await let_in(own / "client")
        assert await let_in(own / "server"), "Temporal's own processes call it, too"
        assert not await let_in(None)
        assert not await let_in(other / "client")
        assert not await let_in(own / "client", ca=other / "client" / "ca.crt")
        assert not await let_in(own / "client", name="another")


def made(folder: Path) -> Path:
    """A folder with the certificates that a set makes for itself."""
    authority, server, client = places = [folder / name for name in ("authority", "server", "client")]
    for place in places:
        place.mkdir(parents=True)
    provide(authority, server, client, now=datetime.now(UTC))
    return folder


async def test_a_key_is_shown(temporal: str, tmp_path: Path) -> None:
    server = self_signed(tmp_path, "server")
    namespace = await new_namespace(temporal)
    checks = 'if ($http_authorization != "Bearer the key") { return 401; }'
    async with asking(tmp_path, temporal, checks=checks) as address:
        for key, expected in (("the key", True), ("another key", False), ("", False)):
            access = TemporalAccess(tls_ca=server.certificate, api_key=key)
            assert await is_let_in(address, namespace, access) is expected


async def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    access = TemporalAccess(tls_ca=tmp_path / "none.pem")
    with pytest.raises(Invalid, match=r"PERDURE_TEMPORAL_TLS_CA=.*none\.pem cannot be read: No such file"):
        await connect(Settings(temporal_address="127.0.0.1:1", temporal_access=access))


def test_a_certificate_needs_its_key(tmp_path: Path) -> None:
    with pytest.raises(ValidationError, match="PERDURE_TEMPORAL_TLS_KEY go together"):
        TemporalAccess(tls_certificate=tmp_path / "own.crt")


def test_it_is_read_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PERDURE_TEMPORAL_API_KEY", "the key")
    monkeypatch.setenv("PERDURE_TEMPORAL_TLS_CA", "/ca.pem")
    settings = Settings()
    assert settings.temporal_access == TemporalAccess(api_key="the key", tls_ca=Path("/ca.pem"))
    assert "the key" not in repr(settings)
