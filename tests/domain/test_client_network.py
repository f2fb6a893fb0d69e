"""What of an address is counted."""

import pytest

from domain.client_network import network_of


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("192.0.2.1", "192.0.2.1", True),
        ("192.0.2.1", "192.0.2.2", False),
        ("2001:db8::1", "2001:db8::ffff:1", True),
        ("2001:db8::1", "2001:db8:0:1::1", False),
        ("::ffff:192.0.2.1", "192.0.2.1", True),
        ("::ffff:192.0.2.1", "::ffff:192.0.2.2", False),
        ("unix:", "nobody knows", True),
    ],
)
def test_an_address_of_ipv6_counts_as_its_network(one: str, other: str, same: bool) -> None:
    assert (network_of(one) == network_of(other)) is same
