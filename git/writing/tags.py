"""Making tags on the server.

Source of the rules: git's git-mktag(1) (what an annotated tag looks like).
"""

from dataclasses import dataclass
from datetime import UTC, datetime

from domain.errors import Invalid, Unavailable
from domain.projects.ref_names import TAGS
from git.command import run
from git.names import checked_branch, checked_ref, checked_sha
from git.reading.signature import Signature
from git.repository import Repository


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
    return checked_ref(f"{TAGS}{checked_ref(name)}")


async def tag_object(repository: Repository, tag: NewTag) -> str:
    """What the ref of the tag will name: the commit, or a tag object that is written now and that nothing shows yet.

    Raises `Invalid` for a name that no tag may have or a commit that is not there, `Unavailable` when the disk fails.
    """
    checked_branch(tag.name)
    if not tag.message.strip():
        return checked_sha(tag.sha)
    tagger = Signature(tag.tagger_name, tag.tagger_email, tag.moment or datetime.fromtimestamp(0, UTC))
    head = f"object {checked_sha(tag.sha)}\ntype commit\ntag {tag.name}\ntagger {tagger.line}\n"
    text = f"{head}\n{tag.message.strip()}\n".encode("utf-8", "replace")
    answer = await run([f"--git-dir={repository.path}", "mktag"], text, accept=(0, 128))
    if answer.code and "could not read tagged object" in answer.err:
        raise Invalid(f"The tag {tag.name} cannot be made: the repository has no commit {tag.sha}.")
    if answer.code:
        raise Unavailable(f"The tag {tag.name} cannot be written: {answer.err}")
    return answer.out.decode("ascii").strip()


async def message_of(repository: Repository, name: str) -> str:
    """The message of an annotated tag; empty for one that names a commit, or that is not there."""
    return await _message(repository, ref_of(name))


async def tag_message(repository: Repository, target: str) -> str:
    """The message of a tag object; empty for a commit, or nothing that is there."""
    return await _message(repository, checked_sha(target))


async def _message(repository: Repository, what: str) -> str:
    answer = await run([f"--git-dir={repository.path}", "cat-file", "tag", what], accept=(0, 128))
    text = answer.out.decode("utf-8", "replace") if answer.code == 0 else ""
    return text.partition("\n\n")[2].strip()
