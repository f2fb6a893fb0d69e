"""Gets a job's sources with git (docs/reference/runner-protocol.md, "Job document").

User and password of the repository's address never stand in a command line, in the work tree's configuration or in the
log: git asks a credential helper that reads them from the environment.
"""

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Final
from urllib.parse import unquote, urlsplit, urlunsplit

from domain.errors import Invalid
from fleet.executors.files import WorkTree
from fleet.job import GitInfo, Job

STRATEGIES: Final = ("fetch", "clone", "none", "empty")
USER, PASSWORD = "PERDURE_GIT_USER", "PERDURE_GIT_PASSWORD"
HELPER: Final = f'!f() {{ test "$1" != get || printf \'username=%s\\npassword=%s\\n\' "${USER}" "${PASSWORD}"; }}; f'

RunGit = Callable[[Sequence[str]], Awaitable[int]]
"""Runs a command in the project's folder and returns its exit status."""


@dataclass(frozen=True, slots=True)
class Remote:
    """A repository's address without its secret part, and that part."""

    url: str
    user: str = ""
    password: str = field(default="", repr=False)

    def environment(self, ca_file: str = "") -> dict[str, str]:
        """What git needs in its environment to use the credentials; nothing of it is a secret but the password.

        `ca_file` has the certificates that it believes at that address, empty for those of the machine.
        """
        parts = urlsplit(self.url)
        place = f"{parts.scheme}://{parts.netloc}"
        told = [(f"http.{place}.sslCAInfo", ca_file)] if ca_file else []
        if self.password:
            # The empty value forgets the helpers of this machine: none of them shall store a job's token.
            told += [(f"credential.{place}.helper", ""), (f"credential.{place}.helper", HELPER)]
        numbered = {f"GIT_CONFIG_KEY_{n}": name for n, (name, _) in enumerate(told)}
        numbered |= {f"GIT_CONFIG_VALUE_{n}": value for n, (_, value) in enumerate(told)}
        who = {USER: self.user, PASSWORD: self.password} if self.password else {}
        return {**who, "GIT_CONFIG_COUNT": str(len(told)), **numbered} if told else {}


def read_remote(repo_url: str) -> Remote:
    """Take user and password out of an address."""
    parts = urlsplit(repo_url)
    if parts.scheme not in ("http", "https") or "@" not in parts.netloc:
        return Remote(repo_url)
    place = parts.netloc.rpartition("@")[2]
    return Remote(
        urlunsplit((parts.scheme, place, parts.path, "", "")),
        unquote(parts.username or ""),
        unquote(parts.password or ""),
    )


def project_folder(job: Job, strategy: str) -> str:
    """The project's folder below the slot: the repository's path, `project-<id>` without a host.

    Raises Invalid for a path that would leave the slot.
    """
    parts = urlsplit(job.git.repo_url)
    path = PurePosixPath(unquote(parts.path).removesuffix(".git").strip("/")) if parts.hostname else PurePosixPath()
    if ".." in path.parts or "\0" in str(path):
        raise Invalid(f"the repository address of job {job.id} has `..` in its path; it is not used")
    folder = str(path) if path.parts else f"project-{job.project_id}"
    return folder + "-empty" if strategy == "empty" else folder


def git_strategy(job: Job, variables: Mapping[str, str]) -> str:
    """`GIT_STRATEGY`, else what the server prefers; raises Invalid for an unknown one."""
    strategy = variables.get("GIT_STRATEGY", "") or ("fetch" if job.allow_git_fetch else "clone")
    if strategy not in STRATEGIES:
        raise Invalid(f"GIT_STRATEGY {strategy!r} is not known; use one of {', '.join(STRATEGIES)}")
    return strategy


class Sources:
    """The work tree of one job."""

    def __init__(
        self, git: GitInfo, there: WorkTree, variables: Mapping[str, str], run: RunGit, say: Callable[[str], None]
    ) -> None:
        """`run` executes commands in the project's folder, `say` writes a line to the job's log."""
        self._git, self._there, self._variables = git, there, variables
        self._run, self._say = run, say

    async def get(self) -> int:
        """Fetch and check out; the exit status of the first command that failed, else 0."""
        remote = read_remote(self._git.repo_url)
        depth = self._git.depth
        self._say(f"Fetching changes with git depth set to {depth}..." if depth else "Fetching changes...")
        for command in (*self._init(remote), self._fetch()):
            if status := await self._run(command):
                return status
        if self._variables.get("GIT_CHECKOUT", "true").lower() in ("false", "0"):
            self._say("Skipping Git checkout")
            return 0
        return await self._check_out()

    def _init(self, remote: Remote) -> list[list[str]]:
        if self._there.is_repository:
            return [["git", "remote", "set-url", "origin", remote.url]]
        form = [] if self._git.object_format == "sha1" else [f"--object-format={self._git.object_format}"]
        return [
            ["git", "-c", "init.defaultBranch=none", "init", "--quiet", *form, "."],
            ["git", "remote", "add", "origin", remote.url],
        ]

    def _fetch(self) -> list[str]:
        shallow = [f"--depth={self._git.depth}"] if self._git.depth else self._unshallow()
        extra = self._flags("GIT_FETCH_EXTRA_FLAGS", ["--prune", "--quiet"])
        # `--` keeps a refspec that starts with a dash from being read as an option.
        return ["git", "fetch", "--no-recurse-submodules", *shallow, *extra, "--", "origin", *self._git.refspecs]

    def _unshallow(self) -> list[str]:
        return ["--unshallow"] if self._there.is_shallow else []

    async def _check_out(self) -> int:
        sha = self._git.sha
        if not re.fullmatch(r"[0-9a-f]{8,64}", sha):
            raise Invalid(f"the commit {sha!r} is not a full object id; nothing can be checked out")
        self._say(f"Checking out {sha[:8]} as detached HEAD (ref is {self._git.ref})...")
        commands = [["git", "-c", "advice.detachedHead=false", "checkout", "--force", "--quiet", sha]]
        if clean := self._flags("GIT_CLEAN_FLAGS", ["-ffdx"]):
            commands.append(["git", "clean", *clean])
        commands += self._submodules()
        for command in commands:
            if status := await self._run(command):
                return status
        return 0

    def _submodules(self) -> list[list[str]]:
        strategy = self._variables.get("GIT_SUBMODULE_STRATEGY", "none")
        if strategy not in ("normal", "recursive"):
            return []
        recursive = ["--recursive"] if strategy == "recursive" else []
        return [
            ["git", "submodule", "sync", "--quiet", *recursive],
            ["git", "submodule", "update", "--init", "--force", *recursive],
        ]

    def _flags(self, name: str, default: list[str]) -> list[str]:
        """Flags out of a variable; `none` turns them off."""
        text = self._variables.get(name, "").split()
        return ([] if text == ["none"] else text) if text else default
