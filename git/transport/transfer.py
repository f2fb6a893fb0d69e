"""Copies branches and tags from one server to another by a repository in between; for the command line only.

Each server has a token, which git is given in its environment and sends to that server alone: it follows no redirect,
reads no settings of this machine or its people, asks nobody, and runs no hooks.
"""

import base64
import os
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from domain.errors import Unavailable
from domain.text_lines import lines_of
from git.command import CLEAN_ENVIRONMENT
from git.output import Completed

SOURCE: Final = "refs/source/"
TARGET: Final = "refs/target/"
_KINDS: Final = ("heads/", "tags/")
_NO_PIPELINES: Final = "ci.no_pipeline"
"""GitLab's push option: not even a skipped pipeline is made, as `ci.skip` does."""
_MAX_BATCH: Final = 200
"""Refs of one push; the command line has room for them."""
_SHOWN: Final = 500
_LOCAL: Final = frozenset({"127.0.0.1", "localhost", "::1"})
_PROXIES: Final = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")
_CERTIFICATES: Final = (("SSL_CERT_FILE", "http.sslCAInfo"), ("SSL_CERT_DIR", "http.sslCAPath"))
_FETCH: Final = "--quiet --prune --no-tags --no-write-fetch-head --no-auto-maintenance --no-recurse-submodules".split()
_PUSH: Final = f"--porcelain --no-verify --recurse-submodules=no --push-option={_NO_PIPELINES}".split()


@dataclass(frozen=True, slots=True)
class Access:
    """A repository on a server. `url` has no credentials."""

    url: str
    token: str = field(repr=False)

    def environment(self) -> dict[str, str]:
        """The environment of git: its command line can be read by everybody on the machine."""
        pairs = list(self._settings())
        numbered = {f"GIT_CONFIG_KEY_{number}": key for number, (key, _) in enumerate(pairs)}
        numbered |= {f"GIT_CONFIG_VALUE_{number}": value for number, (_, value) in enumerate(pairs)}
        proxies = {name: text for name, text in os.environ.items() if name.lower() in _PROXIES}
        return {**proxies, "GIT_CONFIG_COUNT": str(len(pairs)), "GIT_ASKPASS": "false", **numbered}

    def masked(self, text: str) -> str:
        """A text without the token."""
        return text.replace(self._word, "[MASKED]").replace(self.token, "[MASKED]")

    @property
    def _word(self) -> str:
        return base64.b64encode(f"oauth2:{self.token}".encode()).decode()

    def _settings(self) -> Iterator[tuple[str, str]]:
        parts = urlsplit(self.url)
        yield "protocol.allow", "never"
        yield f"protocol.{parts.scheme}.allow", "always"
        yield "http.followRedirects", "false"
        yield "http.lowSpeedLimit", "1"
        yield "http.lowSpeedTime", "600"
        yield "credential.helper", ""
        yield "core.hooksPath", os.devnull
        yield "gc.auto", "0"
        yield f"http.{parts.scheme}://{parts.netloc}/.extraHeader", f"Authorization: Basic {self._word}"
        if parts.hostname in _LOCAL:
            yield "http.proxy", ""
        for variable, setting in _CERTIFICATES:
            if os.environ.get(variable):
                yield setting, os.environ[variable]


class Transfer:
    """The repository in between: what was fetched from the source, and what the target had before."""

    def __init__(self, folder: Path) -> None:
        """`folder` is an empty bare repository."""
        self._folder = folder

    def fetch(self, access: Access, prefix: str) -> dict[str, str]:
        """Bring all branches and tags below `prefix`; their objects by full name. Raises `Unavailable`."""
        specs = [f"+refs/{kind}*:{prefix}{kind}*" for kind in _KINDS]
        done = self._git("fetch", *_FETCH, "--", access.url, *specs, access=access)
        if done.code:
            raise Unavailable(f"{access.url} cannot be fetched: {_words(done, access)}")
        lines = lines_of(self._git("for-each-ref", "--format=%(objectname) %(refname)", prefix).out.decode())
        return {f"refs/{name.removeprefix(prefix)}": sha for sha, _, name in (line.partition(" ") for line in lines)}

    def is_ancestor(self, old: str, new: str) -> bool:
        """Whether a commit is among those that lead to another one."""
        return self._git("merge-base", "--is-ancestor", old, new).code == 0

    def uses_large_files(self, branch: str) -> bool:
        """Whether a branch of the source keeps files in Git LFS, as far as its `.gitattributes` say."""
        ref = f"{SOURCE}heads/{branch}"
        return self._git("grep", "-q", "-F", "filter=lfs", ref, "--", ":(glob)**/.gitattributes").code == 0

    def push(self, access: Access, names: Sequence[str]) -> dict[str, str]:
        """Push these branches and tags of the source, by full names, none by force; why some were refused, by name.

        Where one of several spoils it for all, the others are pushed without it. Raises `Unavailable` when nothing
        can be pushed at all.
        """
        refused: dict[str, str] = {}
        for begin in range(0, len(names), _MAX_BATCH):
            refused |= self._push_part(access, names[begin : begin + _MAX_BATCH])
        return refused

    def _push_part(self, access: Access, names: Sequence[str]) -> dict[str, str]:
        refused = self._push_once(access, names)
        if len(names) == 1 or len(refused) < len(names):
            return refused
        half = len(names) // 2
        return self._push_part(access, names[:half]) | self._push_part(access, names[half:])

    def _push_once(self, access: Access, names: Sequence[str]) -> dict[str, str]:
        specs = [f"{SOURCE}{name.removeprefix('refs/')}:{name}" for name in names]
        done = self._git("push", *_PUSH, "--", access.url, *specs, access=access)
        if not done.code:
            return {}
        refused = dict(_refusals(access.masked(done.out.decode("utf-8", "replace"))))
        if not refused:
            raise Unavailable(f"{access.url} cannot be pushed to: {_words(done, access)}")
        return refused

    def _git(self, *arguments: str, access: Access | None = None) -> Completed:
        more: Mapping[str, str] = access.environment() if access else {}
        variables = {"PATH": os.environ.get("PATH", os.defpath), **CLEAN_ENVIRONMENT, **more}
        command = ["git", f"--git-dir={self._folder}", *arguments]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, env=variables, check=False)
        return Completed(done.returncode, done.stdout, done.stderr.decode("utf-8", "replace").strip())


@contextmanager
def transfer() -> Iterator[Transfer]:
    """A repository in between that is gone at the end. Raises `Unavailable` where there is no git."""
    with tempfile.TemporaryDirectory(prefix="perdure-import-") as folder:
        variables = {"PATH": os.environ.get("PATH", os.defpath), **CLEAN_ENVIRONMENT}
        command = ["git", "init", "--quiet", "--bare", "--template=", "--", folder]
        try:
            subprocess.run(command, check=True, capture_output=True, env=variables)
        except (FileNotFoundError, subprocess.CalledProcessError) as error:
            raise Unavailable(f"The git command is not there or does not work ({error}); install git 2.39.") from error
        yield Transfer(Path(folder))


def _refusals(porcelain: str) -> Iterator[tuple[str, str]]:
    """Refs that were not pushed, each with the reason in the words of git or the server."""
    for line in lines_of(porcelain):
        flag, _, rest = line.partition("\t")
        if flag == "!":
            spec, _, summary = rest.partition("\t")
            yield spec.partition(":")[2], summary


def _words(done: Completed, access: Access) -> str:
    """What git says, without what is secret."""
    return access.masked(done.err or "git failed without a word")[-_SHOWN:]
