"""E-mails: a text and an HTML part of the same content, with the headers by which programs know them.

Nothing foreign is written into a header or a part by hand: `email` encodes headers, Jinja2 escapes HTML. The log of a
job is never in an e-mail: it may hold what nobody masked.
"""

from dataclasses import dataclass
from datetime import datetime
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime, parseaddr
from pathlib import Path
from typing import Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape

from domain.notifications.chat import COLOURS
from domain.notifications.content import Content
from domain.notifications.plain_words import NAME_LENGTH, ZERO_WIDTH_SPACE, one_line
from settings import Settings

_POLICY: Final = SMTP.clone(max_line_length=998, cte_type="7bit")
"""RFC 5322's limit: a long link in a header stays in one piece. Every server takes seven bits."""
_SHOWN_COLOURS: Final = {"good": "#1f7a3d", "danger": "#c0271d", "warning": "#9a5b00"}
_SUBJECT_LENGTH: Final = 3 * NAME_LENGTH


@dataclass(frozen=True, slots=True)
class Envelope:
    """What an e-mail needs beside its content. `because` says why somebody gets it.

    `unsubscribe` ends them, by a visit or by one POST (RFC 8058); `settings_url` is for those with an account.
    """

    uuid: str
    at: datetime
    because: str
    unsubscribe: str = ""
    settings_url: str = ""


_TEMPLATES: Final = Environment(
    loader=FileSystemLoader(Path(__file__).parent / "templates"),
    autoescape=select_autoescape(["html"], default=False, default_for_string=False),
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    auto_reload=False,
)
"""Of a text part nothing is escaped: it is no HTML."""


def letter(settings: Settings, content: Content, envelope: Envelope) -> bytes:
    """An e-mail as it goes over the line, but for its first header, `To`: who it is for may get another address yet."""
    values = {
        "content": content,
        "because": envelope.because,
        "unsubscribe": envelope.unsubscribe,
        "settings_url": envelope.settings_url,
        "colour": _SHOWN_COLOURS.get(COLOURS.get(content.occasion, ""), "#345678"),
    }
    mail = EmailMessage(policy=_POLICY)
    mail["From"] = _sender(settings)
    mail["Subject"] = _header_text(one_line(content.title, _SUBJECT_LENGTH))
    mail["Date"] = format_datetime(envelope.at)
    mail["Message-ID"] = message_id(settings, envelope.uuid)
    mail["Auto-Submitted"] = "auto-generated"
    mail["X-GitLab-Project-Path"] = _header_text(content.project)
    mail["X-Perdure-Occasion"] = str(content.occasion)
    if envelope.unsubscribe:
        mail["List-Unsubscribe"] = f"<{envelope.unsubscribe}>"
        mail["List-Unsubscribe-Post"] = "List-Unsubscribe=One-Click"
    mail.set_content(_TEMPLATES.get_template("letter.txt").render(values))
    mail.add_alternative(_TEMPLATES.get_template("letter.html").render(values), subtype="html")
    return mail.as_bytes()


def message_id(settings: Settings, uuid: str) -> str:
    """The Message-ID of a message: the same at each attempt, so that receivers know it again."""
    return f"<{uuid}@{settings.url_host}>"


def _header_text(text: str) -> str:
    """A line for a header. What looks encoded (RFC 2047) would be decoded, here and by receivers, line ends and all."""
    return text.replace("=?", f"={ZERO_WIDTH_SPACE}?")


def _sender(settings: Settings) -> Address:
    name, _ = parseaddr(settings.smtp.sender)
    return Address(display_name=name, addr_spec=settings.smtp.address)
