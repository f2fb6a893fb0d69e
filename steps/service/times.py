"""Times of messages."""

from google.protobuf.timestamp_pb2 import Timestamp


def timestamp(seconds: float) -> Timestamp | None:
    """A time in unix seconds; None for 0, which is none."""
    if not seconds:
        return None
    found = Timestamp()
    found.FromNanoseconds(int(seconds * 1_000_000_000))
    return found
