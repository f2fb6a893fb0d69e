"""Packet lines, the framing of git's protocol: four hex digits of length, which count themselves, then the payload.

Source of the rules: git's gitprotocol-common(5) and gitprotocol-pack(5).
"""

from collections.abc import Iterator
from typing import Final

from domain.errors import Invalid

FLUSH: Final = b"0000"
"""Ends a section; a length of 0 without payload."""
HEADER: Final = 4
"""Bytes of the length."""
MAX_PAYLOAD: Final = 65516
"""Bytes of payload that one packet holds."""


def packet(payload: bytes) -> bytes:
    """One packet around a payload of at most `MAX_PAYLOAD` bytes."""
    return b"%04x" % (len(payload) + HEADER) + payload


def error_packet(reason: str) -> bytes:
    """One packet that ends a fetch; the client prints the reason as `fatal: remote error: ...`."""
    return packet(f"ERR {reason}"[:MAX_PAYLOAD].encode("utf-8", "replace")[:MAX_PAYLOAD])


def length_of(header: bytes) -> int:
    """Bytes of payload that follow a header; -1 for a flush packet. Raises Invalid for anything else."""
    try:
        length = int(header.decode("ascii"), 16) if header.isalnum() else 1
    except ValueError:
        length = 1
    if len(header) != HEADER or 0 < length < HEADER:
        raise Invalid(f"The body is no git protocol: {header!r} stands where the length of a packet should.")
    return length - HEADER if length else -1


def packets(data: bytes) -> Iterator[bytes | None]:
    """The payloads of all packets in `data`, None for a flush. Raises Invalid when the last one is cut."""
    position = 0
    while position < len(data):
        length = length_of(data[position : position + HEADER])
        position += HEADER
        if length < 0:
            yield None
            continue
        if position + length > len(data):
            raise Invalid("The git protocol data ends in the middle of a packet.")
        yield data[position : position + length]
        position += length
