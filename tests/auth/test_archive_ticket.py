"""Tickets for archives: good for one, for half an hour, and only as this pod has written them."""

from datetime import timedelta

import pytest

from auth.archive_ticket import LIFETIME, ArchiveTicket, issue_archive_ticket, read_archive_ticket
from auth.key_ring import KeyRing
from auth.session_token import issue_session
from domain.errors import NotFound
from models.clock import system_clock
from tests.auth.rings import ring_of

TICKET = ArchiveTicket(7, 8, 9)


@pytest.fixture
def ring() -> KeyRing:
    return ring_of()


def test_what_was_issued_is_read(ring: KeyRing) -> None:
    assert read_archive_ticket(ring, issue_archive_ticket(ring, TICKET, system_clock())) == TICKET
    text = issue_archive_ticket(ring, ArchiveTicket(0, 8, 9), system_clock())
    assert read_archive_ticket(ring, text).user_id == 0
    assert "/" not in text


def test_one_that_is_over_foreign_or_something_else_is_none(ring: KeyRing) -> None:
    now = system_clock()
    texts = [
        issue_archive_ticket(ring, TICKET, now - LIFETIME - timedelta(minutes=1)),
        issue_archive_ticket(ring_of(), TICKET, now),
        issue_session(ring, 7, now),
        issue_archive_ticket(ring, TICKET, now)[:-1],
        "",
        "x" * 10_000,
    ]
    for text in texts:
        with pytest.raises(NotFound, match="Reload the page"):
            read_archive_ticket(ring, text)
