"""One repository made like another of the same machine: all refs, also those that keep the commits of pipelines.

Again it brings what has changed only, and takes away what is there no more.
"""

from typing import Final

from domain.errors import Unavailable
from domain.text_lines import lines_of
from git.command import run, start
from git.repository import Repository
from git.transport.snapshot import head_of

_OPTIONS: Final = "--prune --force --no-tags --no-write-fetch-head --no-auto-maintenance --quiet".split()
_REFS_LIMIT: Final = 512 * 1024 * 1024
_UNHIDE: Final = {
    "GIT_CONFIG_COUNT": "3",
    "GIT_CONFIG_KEY_0": "fetch.unpackLimit",
    "GIT_CONFIG_VALUE_0": "1",
    "GIT_CONFIG_KEY_1": "protocol.file.allow",
    "GIT_CONFIG_VALUE_1": "always",
    "GIT_CONFIG_KEY_2": "safe.bareRepository",
    "GIT_CONFIG_VALUE_2": "all",
}


async def copy_all(source: Repository, target: Repository) -> int:
    """Let `target` have every ref of `source` and no other; how many they are. Raises `Unavailable` when git fails."""
    arguments = [f"--git-dir={target.path}", "fetch", *_OPTIONS, "--", str(source.path.resolve()), "+refs/*:refs/*"]
    async with start(arguments, _UNHIDE) as git:
        git.stdin.close()
        code = await git.wait()
        if code:
            raise Unavailable(f"git fetch from {source.path} to {target.path} ended with {code}: {git.err or '-'}")
    await target.set_default_branch(await head_of(source))
    await target.harden()
    return len(await all_refs(target))


async def all_refs(repository: Repository) -> dict[str, str]:
    """Every ref by name, with the object that it names."""
    words = [f"--git-dir={repository.path}", "for-each-ref", "--format=%(objectname) %(refname)"]
    answer = await run(words, limit=_REFS_LIMIT)
    rows = (line.split(" ", 1) for line in lines_of(answer.out.decode("utf-8", "surrogateescape")))
    return {name: target for target, name in rows}
