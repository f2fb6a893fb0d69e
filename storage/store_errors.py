"""What obstore's errors mean to us."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from obstore.exceptions import BaseError

from domain.errors import NotFound, StorageFull, Unavailable

_NO_ROOM: Final = ("XMinioStorageFull", "QuotaExceeded", "507 Insufficient Storage")
"""How S3 servers say that they are full."""


@contextmanager
def reading(key: str) -> Iterator[None]:
    """Turn errors of a read, a look or a delete into NotFound or Unavailable."""
    try:
        yield
    except FileNotFoundError as error:
        raise NotFound(f"The object store has no {key}.") from error
    except (BaseError, OSError) as error:
        raise Unavailable(f"The object store failed on {key}: {_reason(error)}") from error


@contextmanager
def writing(key: str) -> Iterator[None]:
    """Turn errors of a write into StorageFull or Unavailable."""
    try:
        yield
    except FileNotFoundError as error:
        # Whoever writes an object can only miss what it is put into.
        raise Unavailable("The bucket does not exist; make it or correct PERDURE_OBJECT_STORE.") from error
    except (BaseError, OSError) as error:
        reason = _reason(error)
        if any(sign in reason for sign in _NO_ROOM):
            raise StorageFull(f"No room to store {key}: {reason}") from error
        raise Unavailable(f"Storing {key} failed: {reason}") from error


def _reason(error: Exception) -> str:
    return str(error).split("\n\nDebug source", 1)[0]
