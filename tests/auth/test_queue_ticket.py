"""Tickets of runners that wait: they name pod and state of the queue, and whatever is not ours is no ticket."""

from collections.abc import Callable

import pytest

from auth.queue_ticket import QueueTickets, Seen
from tests.auth.rings import ring_of

SEEN = Seen("0123abcd", 42)
MAX_LENGTH = 200


def test_a_ticket_says_what_its_runner_has_seen_in_any_process_of_the_pod() -> None:
    ring = ring_of()
    ticket = QueueTickets(ring, 7).issue(5, SEEN)
    assert QueueTickets(ring, 7).read(ticket, 5) == SEEN


def test_a_ticket_is_short_and_names_its_pod_for_a_router() -> None:
    ticket = QueueTickets(ring_of(), 8191).issue(2**53, Seen("ffffffff", 10**15 - 1))
    assert ticket.split(".")[:2] == ["q1", "8191"]
    assert len(ticket) < MAX_LENGTH
    assert ticket.isascii()


@pytest.mark.parametrize(
    "change",
    [
        lambda ticket: ticket[:-1] + ("A" if ticket[-1] != "A" else "B"),
        lambda ticket: ticket.replace(".42.", ".43."),
        lambda ticket: ticket.replace("0123abcd", "0123abce"),
        lambda ticket: ticket.rpartition(".")[0],
        lambda ticket: ticket + " ",
        lambda _: "",
        lambda _: "waiting",
        lambda _: "q1." * 10_000,
        lambda ticket: ticket.replace(".42.", ".٤٢."),
    ],
)
def test_what_was_changed_is_no_ticket(change: Callable[[str], str]) -> None:
    tickets = QueueTickets(ring_of(), 7)
    assert tickets.read(change(tickets.issue(5, SEEN)), 5) is None


def test_the_ticket_of_another_runner_pod_or_key_is_none() -> None:
    ring = ring_of()
    ticket = QueueTickets(ring, 7).issue(5, SEEN)
    assert QueueTickets(ring, 7).read(ticket, 6) is None
    assert QueueTickets(ring, 8).read(ticket, 5) is None
    assert QueueTickets(ring_of(), 7).read(ticket, 5) is None
