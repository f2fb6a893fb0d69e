"""E-mails with hostile names, titles, refs and sentences: text everywhere, one set of headers, readable by others."""

import re
from datetime import UTC, datetime
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from html.parser import HTMLParser

import pytest

from application.notifications.letters import Envelope, letter
from domain.notifications.content import FailedJob, Person
from domain.notifications.occasions import Occasion
from domain.notifications.words import Place, ToldMergeRequest, ToldPipeline, of_merge_request, of_pipeline
from settings import Settings, SmtpSettings

SETTINGS = Settings(
    external_url="https://ci.example:8443",
    smtp=SmtpSettings(url="smtp://127.0.0.1", sender='"Perdure, the CI" <ci@perdure.example>'),
)
AT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
HEADERS = {
    "from", "subject", "date", "message-id", "auto-submitted", "x-gitlab-project-path", "x-perdure-occasion",
    "list-unsubscribe", "list-unsubscribe-post", "content-type", "mime-version",
}  # fmt: skip
ELEMENTS = {
    "html", "head", "meta", "title", "body", "p", "a", "h1", "h2", "table", "tr", "th", "td", "ul", "li", "br"
}  # fmt: skip
HOSTILE = [
    "a\r\nBcc: evil@example.com\r\n\r\nbody",
    "a\nSubject: other",
    "a\rBcc: evil@example.com",
    "=?utf-8?q?a=0D=0ABcc:_evil@example.com?=",
    "=?utf-8?b?DQpCY2M6IGV2aWxAZXhhbXBsZS5jb20NCg0K?=",
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "</title><svg onload=alert(1)>",
    "javascript:alert(1)",
    "{{ 7 * 7 }}{% raw %}",
    "\u202egnp.exe\u2066\u200f\ufeff",
    "x" * 10_000,
    "ä" * 10_000,
    "\x00\x07\x1b[31m\x85\u2028\u2029",
    ".\r\n.\r\n",
    "\ud800",
    "👩‍👩‍👧 ✅ 日本語",
    "%0d%0aBcc: evil@example.com",
    "a" + "\t" * 2000 + "b",
    "=" * 3000,
]


class Read(HTMLParser):
    """The elements of a page, with their attributes."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep it."""
        self.elements.append((tag, dict(attrs)))


def mails(text: str) -> list[bytes]:
    place = Place(text, "https://ci.example/acme/tool")
    job = FailedJob(text, text, text, "https://ci.example/acme/tool/-/jobs/1")
    person = Person(text, "ada", "https://ci.example/ada")
    told = ToldPipeline(7, text, False, "abc12345ff", text, place.url, place.url, person, 5, [job] * 3, 3, text)
    merge_request = ToldMergeRequest(3, text, text, text, place.url, person, person, text)
    contents = [
        of_pipeline(Occasion.PIPELINE_FAILED, place, told),
        of_merge_request(Occasion.MERGED, place, merge_request),
    ]
    ending = f"https://ci.example/-/unsubscribe/v1.0123abcd.{'x' * 200}"
    envelope = Envelope("some-uuid", AT, "You asked for it.", ending, "https://ci.example/-/profile/notifications")
    return [letter(SETTINGS, content, envelope) for content in contents]


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_foreign_text_stays_text(text: str) -> None:
    for raw in mails(text):
        raw.decode("ascii")
        assert re.search(rb"\r(?!\n)|(?<!\r)\n", raw) is None
        assert max(len(line) for line in raw.split(b"\r\n")) <= 998
        mail = message_from_bytes(raw, policy=default)
        assert isinstance(mail, EmailMessage)
        assert sorted(name.lower() for name in mail) == sorted(HEADERS)
        assert not mail.defects
        assert [part.get_content_type() for part in mail.iter_parts()] == ["text/plain", "text/html"]
        assert "\n" not in mail["Subject"]
        assert "\r" not in mail["Subject"]
        html = mail.get_body(("html",))
        assert html is not None
        for name, attributes in Read(html.get_content()).elements:
            assert name in ELEMENTS
            assert not [key for key in attributes if key.startswith("on")]
            assert (attributes.get("href") or "https://ci.example/").startswith("https://ci.example/")


def test_what_programs_know_it_by() -> None:
    (raw, _) = mails("main")
    mail = message_from_bytes(raw, policy=default)
    assert mail["Message-ID"] == "<some-uuid@ci.example>"
    assert mail["From"] == '"Perdure, the CI" <ci@perdure.example>'
    assert mail["List-Unsubscribe"] == f"<https://ci.example/-/unsubscribe/v1.0123abcd.{'x' * 200}>"
    assert mail["Date"] == "Fri, 02 Jan 2026 03:04:05 +0000"


def test_the_same_message_is_the_same_text_but_for_its_boundary() -> None:
    """A stored body is what is sent each time; made anew it would have another boundary."""
    boundary = re.compile(rb"=+\d+==")
    first, second = mails("main")[0], mails("main")[0]
    assert boundary.sub(b"", first) == boundary.sub(b"", second)
