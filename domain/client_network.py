"""What of a client's address is counted where addresses are told from each other."""

from ipaddress import IPv6Address, ip_address
from typing import Final

_NETWORK: Final = 8
"""Bytes of an IPv6 address that name a network: who has one address there has all of them."""


def network_of(host: str) -> bytes:
    """An IPv4 address, an IPv6 network. All that is no address counts as one."""
    try:
        address = ip_address(host)
    except ValueError:
        return b""
    if isinstance(address, IPv6Address):
        return address.packed[:_NETWORK] if address.ipv4_mapped is None else address.ipv4_mapped.packed
    return address.packed
