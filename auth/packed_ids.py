"""Many ids in few characters, for tokens: sorted, each as the distance from the one before, and deflated."""

import base64
import zlib
from collections.abc import Iterable

from domain.errors import Invalid


def pack(ids: Iterable[int]) -> str:
    """Positive ids as base64url; empty for none. The jobs of one pipeline are near each other, so it is short."""
    raw, last = bytearray(), 0
    for item in sorted(set(ids)):
        distance, last = item - last, item
        while distance > 0x7F:
            raw.append(distance & 0x7F | 0x80)
            distance >>= 7
        raw.append(distance)
    return base64.urlsafe_b64encode(zlib.compress(raw, 9)).rstrip(b"=").decode() if raw else ""


def unpack(text: str) -> frozenset[int]:
    """The ids of a text that `pack` made. Raises `Invalid` for another one."""
    try:
        raw = zlib.decompress(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))) if text else b""
    except (ValueError, zlib.error) as error:
        raise Invalid("These are no packed ids.") from error
    found, last, distance, shift = set(), 0, 0, 0
    for byte in raw:
        distance |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            last += distance
            found.add(last)
            distance = shift = 0
    return frozenset(found)
