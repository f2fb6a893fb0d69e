"""Fetching the branches and tags of a repository elsewhere, and moving ours to where they are.

What was fetched lies below `refs/mirror/new` until our refs follow, and what they followed last below
`refs/mirror/known`: so a branch that went away elsewhere goes here, and one that only we have stays. The address was
resolved by the caller, and git connects to exactly that one; it follows no redirect and asks nobody for a password.
"""

import asyncio
import base64
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from domain.errors import Invalid, Refused, Unavailable
from domain.projects.ref_names import gives_way, is_like_a_commit, shadows, short_name
from git.command import run, start
from git.repository import Repository
from git.transport.push import RefUpdate
from git.writing.ref_transaction import NOTHING

NEW: Final = "refs/mirror/new/"
KNOWN: Final = "refs/mirror/known/"
KINDS: Final = ("heads/", "tags/")
PATIENCE: Final = 1800.0
"""Seconds for one fetch."""
_SHOWN: Final = 500
"""Characters of git's complaint that people see."""


@dataclass(frozen=True, slots=True)
class Remote:
    """A repository elsewhere. `url` has no credentials; `addresses` are those of its host, checked by the caller."""

    url: str
    addresses: Sequence[str]
    credentials: str = ""

    def environment(self) -> Mapping[str, str]:
        """Settings for git, in its environment: its command line can be read by everybody on the machine."""
        pairs = list(self._settings())
        numbered = {f"GIT_CONFIG_KEY_{number}": key for number, (key, _) in enumerate(pairs)}
        numbered |= {f"GIT_CONFIG_VALUE_{number}": value for number, (_, value) in enumerate(pairs)}
        return {"GIT_CONFIG_COUNT": str(len(pairs)), "GIT_ASKPASS": "/bin/false", **numbered}

    def _settings(self) -> Iterator[tuple[str, str]]:
        parts = urlsplit(self.url)
        port = parts.port or (443 if parts.scheme == "https" else 80)
        yield "protocol.allow", "never"
        yield "protocol.http.allow", "always"
        yield "protocol.https.allow", "always"
        yield "http.followRedirects", "false"
        yield "http.proxy", ""
        yield "http.lowSpeedLimit", "1000"
        yield "http.lowSpeedTime", "60"
        yield "fetch.fsckObjects", "true"
        yield "fetch.unpackLimit", "1"
        yield "credential.helper", ""
        if parts.hostname not in self.addresses:
            yield "http.curloptResolve", f"{parts.hostname}:{port}:{','.join(map(_bracketed, self.addresses))}"
        if self.credentials:
            word = base64.b64encode(self.credentials.encode()).decode()
            yield "http.extraHeader", f"Authorization: Basic {word}"


async def fetch(repository: Repository, remote: Remote) -> None:
    """Bring the branches and tags of the remote below `refs/mirror/new`. Raises `Invalid` with git's own words."""
    specs = [f"+refs/{kind}*:{NEW}{kind}*" for kind in KINDS]
    options = "--prune --no-tags --no-write-fetch-head --no-auto-maintenance --quiet --no-recurse-submodules".split()
    arguments = [f"--git-dir={repository.path}", "fetch", *options, "--", remote.url, *specs]
    async with start(arguments, remote.environment()) as git:
        git.stdin.close()
        try:
            async with asyncio.timeout(PATIENCE):
                code = await git.wait()
        except TimeoutError as error:
            raise Unavailable(f"The fetch took longer than {PATIENCE:g} s.") from error
        if code:
            raise Invalid(_words(git.err, remote))


def _bracketed(address: str) -> str:
    return f"[{address}]" if ":" in address else address


def _words(complaint: str, remote: Remote) -> str:
    """What git says, without what is secret."""
    text = complaint.strip() or "git failed without a word"
    for secret in filter(None, (remote.credentials, remote.credentials.partition(":")[2])):
        text = text.replace(secret, "[MASKED]")
    return text[:_SHOWN]


async def wanted_updates(repository: Repository, keep: str) -> tuple[RefUpdate, ...]:
    """What has to happen to our branches and tags after a fetch; the branch `keep` is never deleted.

    One that could be taken for a commit or another ref stays out. Of a branch and a tag of one name that stays which is
    here, else the one that does not give way.
    """
    refs = {ref.name: ref.object for ref in await repository.refs()}
    new, known = _below(refs, NEW), _below(refs, KNOWN)
    coming = {f"refs/{name}" for name in new}
    moved = [
        RefUpdate(refs.get(f"refs/{name}", NOTHING), target, f"refs/{name}")
        for name, target in new.items()
        if refs.get(f"refs/{name}") != target and _may_be_here(f"refs/{name}", refs, coming, keep)
    ]
    gone = [
        RefUpdate(refs[f"refs/{name}"], NOTHING, f"refs/{name}")
        for name in known
        if name not in new and f"refs/{name}" in refs and name != f"heads/{keep}"
    ]
    return (*gone, *moved)


async def follow(repository: Repository, updates: Sequence[RefUpdate]) -> None:
    """Carry out the updates, and remember what was followed. Raises `Refused` if a ref has moved meanwhile."""
    refs = {ref.name: ref.object for ref in await repository.refs("refs/mirror")}
    new, known = _below(refs, NEW), _below(refs, KNOWN)
    deletes = [f"delete {update.ref} {update.old}" for update in updates if update.is_delete]
    deletes += [f"delete {KNOWN}{name}" for name in known if name not in new]
    moves = [f"update {update.ref} {update.new} {update.old}" for update in updates if not update.is_delete]
    moves += [f"update {KNOWN}{name} {target}" for name, target in new.items() if known.get(name) != target]
    for lines in (deletes, moves):  # apart: a branch `a` must be gone before `a/b` can be
        await _transact(repository, lines)
    await repository.harden([update.ref for update in updates])


async def _transact(repository: Repository, lines: Sequence[str]) -> None:
    if not lines:
        return
    text = "\n".join(("start", *lines, "commit", "")).encode()
    arguments = [f"--git-dir={repository.path}", "update-ref", "--no-deref", "--stdin"]
    answer = await run(arguments, text, accept=(0, 1, 128))
    if answer.code:
        raise Refused(f"The branches moved while they were mirrored: {answer.err[:_SHOWN]}")


def _may_be_here(ref: str, refs: Container[str], coming: Container[str], keep: str) -> bool:
    """Whether a branch or tag may be made or moved here; all names are full ones, but for the branch `keep`."""
    short = short_name(ref)
    return not (is_like_a_commit(short) or shadows(short) or (ref not in refs and gives_way(ref, refs, coming, keep)))


def _below(refs: Mapping[str, str], prefix: str) -> dict[str, str]:
    return {name.removeprefix(prefix): target for name, target in refs.items() if name.startswith(prefix)}
