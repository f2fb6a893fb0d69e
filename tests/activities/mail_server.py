"""A real mail server on loopback (aiosmtpd): it answers as it is told, and keeps what it has taken."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from typing import Any, Final

from aiosmtpd.smtp import SMTP, AuthResult, Envelope, Session

from rigs.ports import LOCAL

OK: Final = "250 OK"
SILENT: Final = "silent"
"""It never answers."""
DIES: Final = "dies"
"""It takes all of the data, and is gone before it answers."""
DIES_AFTER: Final = "dies after"
"""It keeps the e-mail, and is gone before it says so."""


@dataclass(frozen=True)
class Taken:
    """An e-mail that the server has taken."""

    sender: str
    to: list[str]
    raw: bytes

    @property
    def mail(self) -> EmailMessage:
        """What it says."""
        found = message_from_bytes(self.raw, policy=default)
        assert isinstance(found, EmailMessage)
        return found

    def part(self, subtype: str) -> str:
        """One of its two parts."""
        body = self.mail.get_body((subtype,))
        assert body is not None
        return str(body.get_content())


@dataclass
class MailServer:
    """Answers to DATA with `data`, to RCPT with `recipients`, one after the other, the last one for good."""

    data: list[str] = field(default_factory=lambda: [OK])
    recipients: list[str] = field(default_factory=lambda: [OK])
    taken: list[Taken] = field(default_factory=list)
    signed_in: list[tuple[str, str]] = field(default_factory=list)
    over_tls: list[bool] = field(default_factory=list)
    asked: int = 0
    port: int = 0
    is_over: bool = False

    @property
    def ids(self) -> list[str]:
        """The Message-IDs of what it has taken, as often as it has."""
        return [one.mail["Message-ID"] for one in self.taken]

    async def handle_RCPT(  # noqa: N802
        self, _server: SMTP, _session: Session, envelope: Envelope, address: str, _options: list[str]
    ) -> str:
        """Somebody is to get an e-mail."""
        said = _next(self.recipients)
        if said.startswith("250"):
            envelope.rcpt_tos.append(address)
        return said

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:  # noqa: N802
        """All of an e-mail is here."""
        self.asked += 1
        said = _next(self.data)
        if said == SILENT:
            await asyncio.Event().wait()
        if said.startswith("250") or said == DIES_AFTER:
            content = envelope.original_content
            assert content is not None
            self.taken.append(Taken(envelope.mail_from or "", [*envelope.rcpt_tos], content))
            self.over_tls.append(session.ssl is not None)
        if said in {DIES, DIES_AFTER}:
            _cut(server)
        return said

    def sign_in(self, _server: Any, _session: Any, _envelope: Any, _mechanism: str, data: Any) -> AuthResult:
        """Somebody shows a password: only `secret` is right."""
        self.signed_in.append((data.login.decode(), data.password.decode()))
        return AuthResult(success=data.password == b"secret", handled=False)


class _Connection(SMTP):
    """One of a server that may be over when whoever it has accepted last is connected."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Called by asyncio."""
        super().connection_made(transport)
        if self.event_handler.is_over:
            _cut(self)


def _cut(connection: SMTP) -> None:
    """End a connection without a word."""
    if isinstance(connection.transport, asyncio.Transport):
        connection.transport.abort()


def _next(said: list[str]) -> str:
    return said.pop(0) if len(said) > 1 else said[0]


@asynccontextmanager
async def mail_server(
    *data: str, port: int = 0, context: ssl.SSLContext | None = None, at_once: bool = False, **values: Any
) -> AsyncIterator[MailServer]:
    """A server that runs, on a free port unless told; with a `context` it speaks TLS, `at_once` or when asked to."""
    server = MailServer([*data] or [OK], port=port)
    options: dict[str, Any] = {"enable_SMTPUTF8": False, "authenticator": server.sign_in, "auth_require_tls": False}
    if context is not None and not at_once:
        options |= {"tls_context": context, "require_starttls": True}
    loop = asyncio.get_running_loop()
    made: list[SMTP] = []

    def connected() -> SMTP:
        made.append(_Connection(server, loop=loop, **options, **values))
        return made[-1]

    factory: Callable[[], SMTP] = connected
    listening = await loop.create_server(factory, LOCAL, port, ssl=context if at_once else None)
    server.port = listening.sockets[0].getsockname()[1]
    try:
        yield server
    finally:
        server.is_over = True
        listening.close()
        for one in made:
            _cut(one)
        await listening.wait_closed()
