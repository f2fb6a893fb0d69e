"""Where a step is found. Source: docs/reference/steps.md, "Where steps are found"."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, Final, TypeAlias

from domain.errors import Invalid

FILES: Final = ("func.yml", "step.yml")
"""What the file of a step is called where a reference names a folder, in the order in which they are looked for."""
_BUILTIN: Final = re.compile(r"(?:builtin|dist)://(.*)", re.DOTALL)
_BUILTIN_NAME: Final = re.compile(r"[a-z][a-z0-9_]*(?:/[a-z][a-z0-9_]*)*")
_SCHEME: Final = re.compile(r"[a-z][a-z0-9+.-]*://")
_OCI: Final = re.compile(r"(?P<registry>[^/@\s]+)/(?P<repository>[^@\s:]+):(?P<tag>[^\s/:@]+)(?:\s+(?P<path>\S+))?")
_REGISTRY: Final = re.compile(
    r"(?:https?://)?(?:[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?|\[[0-9a-fA-F:]+\])(?::[0-9]{1,5})?"
)
_PART: Final = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_REPOSITORY: Final = re.compile(rf"{_PART}(?:/{_PART})*")
_TAG: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}|sha256:[0-9a-f]{64}")
_UNSAFE: Final = re.compile(r"[\x00-\x20\x7f]")
_STEPS_FOLDER: Final = "steps"
_BELOW_STEPS: Final = "/-/"
_MAX_LENGTH: Final = 2_048
_MAX_REVISION: Final = 255


@dataclass(frozen=True, slots=True)
class LocalReference:
    """A folder or a `.yml` file; a relative one counts from the folder of the definition that names it."""

    path: str


@dataclass(frozen=True, slots=True)
class BuiltinReference:
    """A step that the step runner has itself."""

    name: str


@dataclass(frozen=True, slots=True)
class GitReference:
    """A folder of a repository at a revision; `file` is empty where it is one of `FILES`."""

    url: str
    rev: str
    directory: str = ""
    file: str = ""


@dataclass(frozen=True, slots=True)
class OciReference:
    """A folder of an image; `file` is empty where it is one of `FILES`. `tag` may be a digest.

    `registry` is `host:port`; `http://` before it asks for a connection without TLS.
    """

    registry: str
    repository: str
    tag: str
    directory: str = ""
    file: str = ""


Reference: TypeAlias = LocalReference | BuiltinReference | GitReference | OciReference


def read_reference(written: Any) -> Reference:
    """A reference as a step names it: a text, or a mapping with `git` or `oci`. Raises `Invalid`.

    Nothing that would be an option of a command, or leads out of a repository, gets through.
    """
    if isinstance(written, Mapping):
        return _of_mapping(written)
    if not isinstance(written, str):
        raise Invalid("a reference is a text, or a mapping with `git` or `oci`")
    text = written.strip()
    if len(text) > _MAX_LENGTH or any(ord(sign) < ord(" ") or ord(sign) == 0x7F for sign in text):
        raise Invalid(f"a reference has at most {_MAX_LENGTH:,} characters, none of which controls anything")
    if text.startswith((".", "/")):
        return LocalReference(text)
    if match := _BUILTIN.fullmatch(text):
        return _builtin(match[1])
    if "@" in text:
        return _git(text)
    if match := _OCI.fullmatch(text):
        directory, file = _parted(match["path"] or "")
        return checked_oci(match["registry"], match["repository"], match["tag"], directory, file)
    raise Invalid(
        f"`{text}` names no step: write a path (`./step`), `host/group/project@revision`, `registry/image:tag` or "
        "`builtin://name`"
    )


def _builtin(name: str) -> BuiltinReference:
    if not _BUILTIN_NAME.fullmatch(name):
        raise Invalid(f"`{name}` is no name of a built-in step")
    return BuiltinReference(name)


def _git(text: str) -> GitReference:
    """`host/group/project@revision`, with `/-/folder` below the folder `steps` of the repository."""
    address, _, rev = text.rpartition("@")
    address, is_below, path = _check_word("address", address).partition(_BELOW_STEPS)
    scheme = _SCHEME.match(address)
    directory, file = _parted(path)
    directory = f"{_STEPS_FOLDER}/{directory}" if directory else _STEPS_FOLDER
    if is_below and not path:
        raise Invalid(f"`{text}`: a folder is missing behind `{_BELOW_STEPS}`")
    return _checked_git(address if scheme else f"https://{address}", rev, directory, file)


def _of_mapping(written: Mapping[str, Any]) -> Reference:
    if len(written) == 1 and isinstance(git := written.get("git"), Mapping):
        directory, file = _directory(git.get("dir", "")), _file(git.get("file", ""))
        return _checked_git(_word(git, "url"), _word(git, "rev"), directory, file)
    if len(written) == 1 and isinstance(oci := written.get("oci"), Mapping):
        directory, file = _directory(oci.get("dir", "")), _file(oci.get("file", ""))
        return checked_oci(_word(oci, "registry"), _word(oci, "repository"), _word(oci, "tag"), directory, file)
    raise Invalid("a reference is a text, or a mapping with `git` or `oci`")


def _checked_git(url: str, rev: str, directory: str, file: str) -> GitReference:
    _check_word("address", url)
    _check_word("revision", rev)
    if len(rev) > _MAX_REVISION:
        raise Invalid(f"the revision has {len(rev):,} characters; at most {_MAX_REVISION} are taken")
    if ":" in rev or ".." in rev or rev.startswith("/") or rev == ".git":
        raise Invalid(f"`{rev}` is no revision: name a branch, a tag or a commit")
    return GitReference(url, rev, directory, file)


def checked_oci(registry: str, repository: str, tag: str, directory: str = "", file: str = "") -> OciReference:
    """An image by its names, which become parts of addresses. Raises `Invalid`."""
    patterns = (("registry", registry, _REGISTRY), ("repository", repository, _REPOSITORY), ("tag", tag, _TAG))
    for name, value, pattern in patterns:
        if not pattern.fullmatch(value):
            raise Invalid(f"`{value}` is no {name} of an image")
    return OciReference(registry, repository, tag, directory, file)


def _word(written: Mapping[str, Any], key: str) -> str:
    value = written.get(key)
    if not isinstance(value, str):
        raise Invalid(f"`{key}` is missing, or no text")
    return _check_word(key, value)


def _check_word(name: str, value: str) -> str:
    """What goes to a command may not be one of its options."""
    if len(value) > _MAX_LENGTH:
        raise Invalid(f"the {name} has {len(value):,} characters; at most {_MAX_LENGTH:,} are taken")
    if not value or value.startswith("-") or _UNSAFE.search(value):
        raise Invalid(f"the {name} {value!r} is empty, begins with `-`, or has a blank in it")
    return value


def _parted(path: str) -> tuple[str, str]:
    """A path in a repository: its folder, and its file, if that is named."""
    if not path.endswith((".yml", ".yaml")):
        return _directory(path), ""
    pure = PurePosixPath(path)
    return _directory("" if str(pure.parent) == "." else str(pure.parent)), _file(pure.name)


def _directory(path: Any) -> str:
    """A folder within a repository or an image."""
    if not isinstance(path, str) or path.startswith("/") or ".." in PurePosixPath(path).parts or "\0" in path:
        raise Invalid(f"the folder {path!r} leads out of where the step is")
    return "/".join(PurePosixPath(path).parts)


def _file(name: Any) -> str:
    if not isinstance(name, str) or "/" in name or "\0" in name or name in {".", ".."}:
        raise Invalid(f"the file {name!r} is no name of a file: its folder stands in `dir`")
    return name
