"""Which internet addresses may be called: only those that anybody could reach, and those that a setting permits.

A server that calls what users name must not become their way into its own network (server-side request forgery).
"""

import asyncio
import socket
from collections.abc import Awaitable, Callable, Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Final, TypeAlias

from domain.errors import Invalid

Address: TypeAlias = IPv4Address | IPv6Address
Permission: TypeAlias = Callable[[Address], bool]
Resolver: TypeAlias = Callable[[str, int], Awaitable[Sequence[str]]]
"""From a host name and a port to all of its addresses, as text. Raises `OSError` when there is none."""

_GLOBAL_UNICAST: Final = IPv6Network("2000::/3")
"""All of IPv6 that is handed out for use on the internet (RFC 4291, section 2.4)."""
_NAT64: Final = IPv6Network("64:ff9b::/96")
"""IPv4 behind a translator; the last 32 bits are the IPv4 address (RFC 6052, section 2.1)."""
_LOOK_PUBLIC: Final = (IPv4Network("168.63.129.16/32"), IPv4Network("192.0.0.0/24"), IPv6Network("3fff::/20"))
"""What `is_global` of some Python versions lets pass: Azure's platform address, IETF protocol assignments (where
Oracle's cloud has its metadata), and addresses for documentation."""


def is_public(address: Address) -> bool:
    """Whether an address is on the public internet, however it is written.

    Addresses that carry an IPv4 address (mapped, NAT64, 6to4) are as public as that one.
    """
    if isinstance(address, IPv4Address):
        is_usable = address.is_global and not address.is_multicast and not address.is_reserved
        return is_usable and not any(address in network for network in _LOOK_PUBLIC)
    inner = _carried(address)
    if inner is not None:
        return is_public(inner)
    is_usable = address in _GLOBAL_UNICAST and address.is_global
    return is_usable and not any(address in network for network in _LOOK_PUBLIC)


def _carried(address: IPv6Address) -> IPv4Address | None:
    """The IPv4 address that an IPv6 address carries."""
    if address in _NAT64:
        return IPv4Address(int(address) & 0xFFFF_FFFF)
    return address.ipv4_mapped or address.sixtofour


def public_or_within(networks: str) -> Permission:
    """Permits what is public, and these networks (CIDR, with commas between). Raises `Invalid` for another text."""
    try:
        permitted = tuple(ip_network(text.strip()) for text in networks.split(",") if text.strip())
    except ValueError as error:
        raise Invalid(f"PERDURE_OUTBOUND_NETWORKS: {error}; give networks as 10.1.0.0/16, with commas.") from error

    def permits(address: Address) -> bool:
        inner = _carried(address) if isinstance(address, IPv6Address) else None
        return is_public(address) or any((inner or address) in network for network in permitted)

    return permits


async def look_up(host: str, port: int) -> Sequence[str]:
    """All addresses of a host by the system's resolver, in its order; also of odd forms like `0x7f.1`."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return tuple(dict.fromkeys(str(sockaddr[0]) for *_, sockaddr in found))


async def permitted_addresses(host: str, port: int, resolver: Resolver, permitted: Permission) -> tuple[Address, ...]:
    """The addresses of a host; empty if only one of them is not permitted.

    All have to be permitted, since a name with a public and an internal address is a trick and nothing else.
    Raises `OSError` when the name has no address.
    """
    texts: Sequence[str]
    try:
        ip_address(host)
        texts = (host,)
    except ValueError:
        texts = await resolver(host, port)
    addresses = tuple(ip_address(text) for text in texts)
    if not addresses:
        raise OSError(f"{host} has no address")
    return addresses if all(permitted(address) for address in addresses) else ()
