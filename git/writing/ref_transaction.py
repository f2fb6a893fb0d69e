"""Moving refs: all of them or none, and only from where they were seen."""

from collections.abc import Sequence
from typing import Final

from domain.errors import Invalid, Refused, Unavailable
from git.command import run
from git.names import checked_ref, checked_sha
from git.repository import Repository
from git.transport.push import RefUpdate

NOTHING: Final = "0" * 40
"""Stands for "there is no such ref", before or after."""
_MOVED: Final = (
    "but expected",
    "reference already exists",
    "exists; cannot create",
    "unable to resolve reference",
    "cannot process",
)
"""What git says when a ref is not where it was seen, or would have to be a folder and a file at once."""
_NO_OBJECT: Final = ("nonexistent object", "non-commit object")


async def move_refs(repository: Repository, updates: Sequence[RefUpdate]) -> None:
    """Carry out all updates at once, durably.

    Raises `Refused` when a ref is not at its `old` any more or another ref is in its way, `Invalid` for an object that
    is not there, `Unavailable` when git or the disk fails. Then no ref has moved.
    """
    lines = b"".join(_line(update) for update in updates)
    answer = await run([f"--git-dir={repository.path}", "update-ref", "-z", "--stdin"], lines, accept=(0, 1, 128))
    if answer.code:
        names = ", ".join(update.short_name for update in updates)
        if any(sign in answer.err for sign in _MOVED):
            raise Refused(f"Could not update {names}: it has changed, or another name is in its way ({answer.err}).")
        if any(sign in answer.err for sign in _NO_OBJECT):
            raise Invalid(f"Could not update {names}: the repository has no such commit ({answer.err}).")
        raise Unavailable(f"{names} cannot be updated now: {answer.err}")
    await repository.harden([update.ref for update in updates])


def _line(update: RefUpdate) -> bytes:
    ref = checked_ref(update.ref)
    if update.is_delete:
        return f"delete {ref}\0{checked_sha(update.old)}\0".encode()
    return f"update {ref}\0{checked_sha(update.new)}\0{checked_sha(update.old)}\0".encode()
