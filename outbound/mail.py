"""Handing e-mails to the mail server of the settings: one connection each, with a limit, and what came of it."""

import asyncio
import ssl
import time
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

import aiosmtplib

from settings import SMTP_PORTS, SmtpSettings

KEPT_REPLY: Final = 500
"""Characters of the server's words that are kept."""
_OF_US: Final = frozenset({530, 534, 535, 538, 454})
"""Codes that speak of our sign-in: the message is not at fault, and goes when the settings are right."""


@dataclass(frozen=True, slots=True)
class Receipt:
    """What the mail server said. Without a `code` it said nothing: `error` is why. `passing`: another try may help."""

    code: int | None = None
    reply: str = ""
    error: str = ""
    passing: bool = True
    seconds: float = 0.0

    @property
    def is_taken(self) -> bool:
        """Whether the server has taken the e-mail, and answers for it from now on."""
        return not self.error


class Mailer:
    """Hands e-mails over. Whoever made it has seen to it that `settings` names a server."""

    def __init__(self, settings: SmtpSettings) -> None:
        """Use the server of these settings."""
        self._settings = settings
        self._parts = urlsplit(settings.url)
        self._context: ssl.SSLContext | None = None

    async def send(self, letter: bytes, to: str) -> Receipt:
        """Hand over one e-mail to one ASCII address. What goes wrong is in the receipt, never raised.

        The connection is closed without a farewell: nothing comes between the server's yes and the caller's note of it.
        """
        begin = time.monotonic()
        try:
            async with asyncio.timeout(self._settings.timeout):
                code, reply = await self._hand_over(letter, to)
        except TimeoutError:
            error = f"The mail server did not take it within {self._settings.timeout:g} s."
            return Receipt(error=error, seconds=time.monotonic() - begin)
        except aiosmtplib.SMTPRecipientsRefused as refused:
            first = refused.recipients[0]
            return _refused(first.code, first.message, begin)
        except aiosmtplib.SMTPResponseException as refused:
            return _refused(refused.code, refused.message, begin)
        except (aiosmtplib.SMTPException, OSError, ssl.SSLError) as error:
            said = f"The mail server could not be spoken to: {error or type(error).__name__}"
            return Receipt(error=said[:KEPT_REPLY], seconds=time.monotonic() - begin)
        return Receipt(code, reply[:KEPT_REPLY], seconds=time.monotonic() - begin)

    async def _hand_over(self, letter: bytes, to: str) -> tuple[int, str]:
        settings, parts = self._settings, self._parts
        client = aiosmtplib.SMTP(
            hostname=parts.hostname,
            port=parts.port or SMTP_PORTS[parts.scheme],
            timeout=settings.timeout,
            use_tls=parts.scheme == "smtps",
            start_tls=parts.scheme == "smtp+starttls",
            tls_context=None if parts.scheme == "smtp" else await self._trusted(),
        )
        try:
            await client.connect()
            if settings.user:
                await client.login(settings.user, settings.password)
            await client.mail(settings.address)
            await client.rcpt(to)
            answer = await client.data(letter)
            return answer.code, answer.message
        finally:
            client.close()

    async def _trusted(self) -> ssl.SSLContext:
        """Made once: reading the authorities takes its time."""
        if self._context is None:
            self._context = await asyncio.to_thread(ssl.create_default_context, cafile=self._settings.tls_ca)
        return self._context


def _refused(code: int, message: str, begin: float) -> Receipt:
    said = " ".join(message.split())[:KEPT_REPLY]
    seconds = time.monotonic() - begin
    passing = not 500 <= code < 600 or code in _OF_US
    return Receipt(code, said, f"The mail server refused it: {code} {said}".strip(), passing, seconds)
