"""Making tags on the server.

Source of the rules: git's git-mktag(1) (what an annotated tag looks like) and git-update-ref(1).
"""

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from domain.errors import Invalid, Refused, Unavailable
from git.command import run
from git.names import checked_ref, checked_sha
from git.repository import Repository

_NO_OBJECT: Final = "0" * 40
"""What update-ref takes for "the ref must not exist"."""
_IN_THE_WAY: Final = ("reference already exists", "exists; cannot create")
"""What git says of a ref that is there, or that would have to be a folder and a file at once."""
_NOT_IN_IDENTITY: Final = re.compile(r"[<>\x00-\x1f\x7f]")


@dataclass(frozen=True, slots=True)
class NewTag:
    """A tag to be made at a commit. With a `message` it is annotated, in the name of the tagger at `moment`."""

    name: str
    sha: str
    message: str = ""
    tagger_name: str = ""
    tagger_email: str = ""
    moment: datetime | None = None


def ref_of(name: str) -> str:
    """The full name of a tag's ref. Raises `Invalid` for what git forbids."""
    return checked_ref(f"refs/tags/{checked_ref(name)}")


async def tag_object(repository: Repository, tag: NewTag) -> str:
    """What the ref of the tag will name: the commit, or a tag object that is written now and that nothing shows yet.

    Raises `Invalid` for a name that git forbids or a commit that is not there, `Unavailable` when the disk fails.
    """
    ref_of(tag.name)
    if not tag.message.strip():
        return checked_sha(tag.sha)
    seconds = int(tag.moment.timestamp()) if tag.moment is not None else 0
    name = _NOT_IN_IDENTITY.sub("", tag.tagger_name).strip() or "unknown"
    email = _NOT_IN_IDENTITY.sub("", tag.tagger_email).strip()
    head = f"object {checked_sha(tag.sha)}\ntype commit\ntag {tag.name}\ntagger {name} <{email}> {seconds} +0000\n"
    text = f"{head}\n{tag.message.strip()}\n".encode("utf-8", "replace")
    answer = await run([f"--git-dir={repository.path}", "mktag"], text, accept=(0, 128))
    if answer.code and "could not read tagged object" in answer.err:
        raise Invalid(f"The tag {tag.name} cannot be made: the repository has no commit {tag.sha}.")
    if answer.code:
        raise Unavailable(f"The tag {tag.name} cannot be written: {answer.err}")
    return answer.out.decode("ascii").strip()


async def create_tag_ref(repository: Repository, name: str, target: str) -> None:
    """Let a new tag name the object `target`, durably.

    Raises `Refused` when the tag, or another one that is in its way, exists; `Unavailable` when git or the disk fails.
    """
    ref = ref_of(name)
    arguments = [f"--git-dir={repository.path}", "update-ref", ref, checked_sha(target), _NO_OBJECT]
    answer = await run(arguments, accept=(0, 1, 128))
    if answer.code and any(sign in answer.err for sign in _IN_THE_WAY):
        raise Refused(f"The tag {name} cannot be made: it exists, or another tag is in its way ({answer.err}).")
    if answer.code:
        raise Unavailable(f"The tag {name} cannot be made now: {answer.err}")
    await repository.harden([ref])
