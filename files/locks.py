"""Locks on files that end with the process that has them (flock(2))."""

import fcntl


def is_taken(descriptor: int) -> bool:
    """Take the lock of an open file; False where another one has it. It goes with the last copy of the descriptor."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
