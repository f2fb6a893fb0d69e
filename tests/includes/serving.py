"""A small HTTP server on loopback, with or without TLS, and a resolver with answers of its own."""

import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import Any

from aiohttp import web
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from includes.remote_file import fetch
from outbound.addresses import Address
from rigs.ports import LOCAL

Handler = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]
OTHER = "127.0.0.2"
"""Another address of this machine, which the tests take for an internal one."""


def local_only(address: Address) -> bool:
    """What tests permit: the address of their server and nothing else."""
    return address == ip_address(LOCAL)


@dataclass
class Served:
    """A server that runs; `seen` are the requests as `method host path`."""

    port: int
    seen: list[str] = field(default_factory=list)

    def url(self, path: str = "/ci.yml", host: str = LOCAL) -> str:
        """An address on the server."""
        return f"http://{host}:{self.port}{path}"


@asynccontextmanager
async def serving(
    handler: Handler, *, host: str = LOCAL, port: int = 0, tls: ssl.SSLContext | None = None
) -> AsyncIterator[Served]:
    """Serve with `handler` on a port, a free one unless told."""
    served = Served(0)

    async def recorded(request: web.BaseRequest) -> web.StreamResponse:
        served.seen.append(f"{request.method} {request.headers['Host']} {request.raw_path}")
        return await handler(request)

    runner = web.ServerRunner(web.Server(recorded, handler_cancellation=True), shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, host, port, ssl_context=tls).start()
    served.port = int(runner.addresses[0][1])
    try:
        yield served
    finally:
        await runner.cleanup()


class Names:
    """A resolver: each name's answers one after the other, the last one for good; `asked` are the names."""

    def __init__(self, **responses: Sequence[Sequence[str]]) -> None:
        self._answers = {name: list(rows) for name, rows in responses.items()}
        self.asked: list[str] = []

    async def __call__(self, host: str, _port: int) -> Sequence[str]:
        self.asked.append(host)
        rows = self._answers.get(host)
        if rows is None:
            raise OSError(f"no such name: {host}")
        return rows.pop(0) if len(rows) > 1 else rows[0]


class Pauses:
    """Instead of waiting: remember how long it would have been."""

    def __init__(self) -> None:
        self.taken: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.taken.append(seconds)


async def local_fetch(url: str, **options: Any) -> str:
    """`fetch` that may reach the tests' server and does not wait."""
    given: dict[str, Any] = {"permitted": local_only, "sleep": Pauses(), **options}
    return await fetch(url, **given)


def certificate(folder: Path, name: str) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """The two ends of TLS for one name: of its server, and of a client that trusts it."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    file = folder / f"{name}.pem"
    encoding = serialization.Encoding.PEM
    private = key.private_bytes(encoding, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    file.write_bytes(private + made.public_bytes(encoding))
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(file)
    return server, ssl.create_default_context(cadata=made.public_bytes(encoding).decode())
