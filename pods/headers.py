"""Which headers a proxy hands on, and which it writes itself."""

from collections.abc import Iterable

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
    return _kept(received, answer=True)


def _kept(received: CIMultiDictProxy[str], *, also: Iterable[str] = (), answer: bool = False) -> CIMultiDict[str]:
    dropped = HOP_BY_HOP.union(also)
    for named in received.getall("Connection", ()):
        dropped = dropped.union(token.strip().lower() for token in named.split(","))
    kept: CIMultiDict[str] = CIMultiDict()
    for name, value in received.items():
        key = name.lower()
        if key in dropped or (not answer and (key in CLAIMS or key.startswith("x-forwarded-"))):
            continue
        kept.add(name, value)
    return kept
