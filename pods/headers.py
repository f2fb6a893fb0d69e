"""Which headers a proxy hands on, and which it writes itself."""

from collections.abc import Iterable
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network

from multidict import CIMultiDict, CIMultiDictProxy

HOP_BY_HOP = frozenset(
    {
        "connection",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)
"""They speak of one connection only (RFC 9110, 7.6.1)."""

CLAIMS = frozenset({"forwarded", "x-real-ip"})
"""What a client might say about its own origin; like every `X-Forwarded-*` it is never believed."""


class Proxies:
    """Proxies before the front, whose word about a client is believed."""

    def __init__(self, text: str) -> None:
        """Addresses and networks with commas between; raises ValueError."""
        parts = [part.strip() for part in text.split(",") if part.strip()]
        self._networks: list[IPv4Network | IPv6Network] = [ip_network(part, strict=False) for part in parts]

    def origin(self, received: CIMultiDictProxy[str], peer: str, proto: str) -> tuple[str, str]:
        """Address and scheme of the client that `peer` speaks for; its own, and ours, if it is no such proxy.

        Of what stands in such a header only the last word is the proxy's own, on whatever line: those before it may be
        the client's.
        """
        if not self._networks or not any(ip_address(peer) in network for network in self._networks):
            return peer, proto
        return _last_word(received, "X-Forwarded-For") or peer, _last_word(received, "X-Forwarded-Proto") or proto


def _last_word(received: CIMultiDictProxy[str], name: str) -> str:
    return ",".join(received.getall(name, ())).rpartition(",")[2].strip()


def request_headers(received: CIMultiDictProxy[str], *, peer: str, proto: str) -> CIMultiDict[str]:
    """Headers for the API: those of the client without hop-by-hop ones and claims about its origin.

    `Host` stays as it was. `Expect` is dropped because the front answers it. `peer` is the client's address, `proto`
    the scheme under which users reach the front.
    """
    headers = _kept(received, also={"expect"})
    headers["X-Forwarded-For"] = peer
    headers["X-Forwarded-Proto"] = proto
    headers["X-Forwarded-Host"] = received.get("Host", "")
    return headers


def response_headers(received: CIMultiDictProxy[str]) -> CIMultiDict[str]:
    """Headers for the client: those of the API without hop-by-hop ones."""
    return _kept(received, response=True)


def _kept(received: CIMultiDictProxy[str], *, also: Iterable[str] = (), response: bool = False) -> CIMultiDict[str]:
    dropped = HOP_BY_HOP.union(also)
    for named in received.getall("Connection", ()):
        dropped = dropped.union(token.strip().lower() for token in named.split(","))
    kept: CIMultiDict[str] = CIMultiDict()
    for name, value in received.items():
        key = name.lower()
        if key in dropped or (not response and (key in CLAIMS or key.startswith("x-forwarded-"))):
            continue
        kept.add(name, value)
    return kept
