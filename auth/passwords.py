"""Passwords: argon2id with the library's own parameters; the database keeps its text, which names them.

Hashing takes 64 MiB and some hundredths of a second on purpose: it goes through threads of its own, a few at a time.
"""

import asyncio
import base64
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Final

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

SHORTEST: Final = 8
MAX_LENGTH: Final = 128
_MAX_CONCURRENT: Final = 2
_LIGHT: Final = PasswordHasher(time_cost=1, memory_cost=64, parallelism=1)


def fault_of(password: str) -> str:
    """What is wrong with a new password, in GitLab's words; empty if it can be one."""
    if len(password) < SHORTEST:
        return f"is too short (minimum is {SHORTEST} characters)"
    if len(password) > MAX_LENGTH:
        return f"is too long (maximum is {MAX_LENGTH} characters)"
    return ""


class Passwords:
    """Hashes and verifies passwords off the event loop."""

    def __init__(self) -> None:
        """Take the library's parameters."""
        self._hasher = PasswordHasher()
        self._threads = ThreadPoolExecutor(_MAX_CONCURRENT, thread_name_prefix="passwords")
        self._nobodys = _impossible(self._hasher)

    async def hashed(self, password: str) -> str:
        """What the database keeps of a password."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, self._hasher.hash, password)

    def hashed_lightly(self, password: str) -> str:
        """The same, at once, for what nobody can guess, a password made of chance; its first use hashes it anew."""
        return _LIGHT.hash(password)

    async def is_right(self, known: str, password: str) -> bool:
        """Whether a password is the one that was hashed. Where none is known the answer takes as long, and is no."""
        verifying = partial(self._verify, known or self._nobodys, password)
        return await asyncio.get_running_loop().run_in_executor(self._threads, verifying) and bool(known)

    def is_outdated(self, known: str) -> bool:
        """Whether a hash was made with other parameters than today's: it is made anew at the next sign-in."""
        return self._hasher.check_needs_rehash(known)

    def _verify(self, known: str, password: str) -> bool:
        try:
            return self._hasher.verify(known, password)
        except (VerificationError, InvalidHashError):
            return False


def _impossible(hasher: PasswordHasher) -> str:
    """A hash that no password is known for, with the same parameters, so that it takes as long to verify."""
    salt, digest = (
        base64.b64encode(bytes(length)).rstrip(b"=").decode() for length in (hasher.salt_len, hasher.hash_len)
    )
    cost = f"m={hasher.memory_cost},t={hasher.time_cost},p={hasher.parallelism}"
    return f"$argon2id$v=19${cost}${salt}${digest}"
