"""Handing e-mails to a real mail server: what comes back, over TLS or not, and that nobody is waited for too long."""

import ssl
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from outbound.mail import Mailer, Receipt
from rigs.ports import LOCAL, free_port
from settings import SmtpSettings
from tests.activities.mail_server import DIES, SILENT, MailServer, mail_server
from tests.certificates import self_signed
from tests.waiting import HANGS

LETTER = b"To: a@b.example\r\nSubject: x\r\n\r\n.hidden\r\nline\r\n"


async def send(server: MailServer, scheme: str = "smtp", **values: Any) -> Receipt:
    settings = SmtpSettings(
        url=f"{scheme}://{LOCAL}:{server.port}", sender="Perdure <ci@perdure.example>", **{"timeout": 5, **values}
    )
    return await Mailer(settings).send(LETTER, "a@b.example")


async def test_what_is_taken_arrives_as_it_is() -> None:
    async with mail_server() as server:
        receipt = await send(server)
    assert (receipt.code, receipt.is_taken, receipt.error) == (250, True, "")
    (taken,) = server.taken
    assert (taken.sender, taken.to, taken.raw) == ("ci@perdure.example", ["a@b.example"], LETTER)


@pytest.mark.parametrize(
    ("said", "passing"),
    [("451 4.7.1 Greylisted, try later", True), ("552 5.2.2 Mailbox full", False), ("421 Going down", True)],
)
async def test_refusals_of_the_text(said: str, passing: bool) -> None:
    async with mail_server(said) as server:
        receipt = await send(server)
    assert (receipt.code, receipt.passing, receipt.is_taken) == (int(said[:3]), passing, False)
    assert receipt.error == f"The mail server refused it: {said}"


@pytest.mark.parametrize(("said", "passing"), [("450 Later", True), ("550 5.1.1 No such user", False)])
async def test_refusals_of_the_recipient(said: str, passing: bool) -> None:
    async with mail_server() as server:
        server.recipients = [said]
        receipt = await send(server)
    assert (receipt.passing, receipt.error) == (passing, f"The mail server refused it: {said}")
    assert server.asked == 0


async def test_nobody_waits_for_one_that_never_answers() -> None:
    async with mail_server(SILENT) as server:
        receipt = await send(server, timeout=0.3)
    assert (receipt.passing, receipt.code) == (True, None)
    assert receipt.error == "The mail server did not take it within 0.3 s."
    assert receipt.seconds < HANGS


async def test_one_that_dies_after_the_data() -> None:
    async with mail_server(DIES) as server:
        receipt = await send(server)
    assert (receipt.passing, receipt.is_taken, receipt.code) == (True, False, None)
    assert "could not be spoken to" in receipt.error


async def test_one_that_is_not_there() -> None:
    receipt = await send(MailServer(port=free_port()))
    assert receipt.passing
    assert "could not be spoken to" in receipt.error


@pytest.mark.parametrize("scheme", ["smtps", "smtp+starttls"])
async def test_tls(tmp_path: Path, scheme: str) -> None:
    files = self_signed(tmp_path, "mail")
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(files.certificate, files.key)
    async with mail_server(context=context, at_once=scheme == "smtps") as server:
        distrusted = await send(server, scheme)
        trusted = await send(server, scheme, tls_ca=files.certificate, user="ada", password="secret")
        wrong = await send(server, scheme, tls_ca=files.certificate, user="ada", password="other")
    assert "certificate verify failed" in distrusted.error
    assert trusted.is_taken, trusted.error
    assert (wrong.code, wrong.passing) == (535, True), "our sign-in is at fault, not the message"
    assert server.signed_in[0] == ("ada", "secret")
    assert set(server.signed_in[1:]) == {("ada", "other")}
    assert len(server.taken) == 1


async def test_nothing_goes_in_clear_where_tls_was_asked_for() -> None:
    async with mail_server() as server:
        receipt = await send(server, "smtp+starttls", user="ada", password="secret")
    assert not receipt.is_taken
    assert not server.signed_in
    assert not server.taken


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"url": "http://mail:25"}, "must be smtp://host:port"),
        ({"url": "smtp://ada:secret@mail"}, "given apart"),
        ({"url": "smtp://"}, "must be smtp://host:port"),
        ({"url": "smtp://mail", "sender": "nobody"}, "must be an e-mail address"),
        ({"url": "smtp://mail", "sender": "a@b\r\nBcc: c@d"}, "must be an e-mail address"),
        ({"url": "smtp://mail", "user": "ada"}, "as it is"),
    ],
)
def test_settings_that_cannot_be_right(values: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        SmtpSettings(**{"sender": "a@b.example", **values})


def test_settings_keep_the_password_to_themselves() -> None:
    settings = SmtpSettings(url="smtps://mail", sender="a@b.example", user="ada", password="s3cret")
    assert "s3cret" not in repr(settings)
    assert settings.is_given
    assert not SmtpSettings().is_given
