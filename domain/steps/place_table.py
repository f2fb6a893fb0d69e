"""Reads from a table where steps run and how they are reached. Every fault says what, where, and what to do.

Source: docs/steps.md, "Elsewhere".
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from domain.config.reading.spelling import nearest
from domain.errors import Invalid
from domain.steps.places import DOCKER_HOST, PROXY, Docker, Kubernetes, Local, Place, Ssh, TlsFiles

_HOST: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:%-]{0,252}")
_USER: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]{0,63}")
_CONTAINER_USER: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}(?::[A-Za-z0-9_][A-Za-z0-9_.-]{0,63})?")
_CONTAINER: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,254}")
_KUBERNETES_NAME: Final = re.compile(r"[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?")
_MAX_PORT: Final = 65_535


def read_place(table: Mapping[str, object], where: str, folder: Path) -> Place:
    """The place that a table describes; `where` is what messages call the table, files are relative to `folder`.

    Raises `Invalid`: what is wrong, where, and what to do.
    """
    reading = _Reading(table, where, folder)
    way = reading.text("way", default="local")
    if way not in _WAYS:
        raise Invalid(
            f"{where}: `way` is {way!r}, which is not known; use one of {', '.join(_WAYS)}{_near(way, _WAYS)}"
        )
    keys, read = _WAYS[way]
    for key in table:
        if key not in keys:
            raise Invalid(
                f"{where}: `{key}` is no key for way {way!r}, which takes {', '.join(keys)}{_near(key, keys)}"
            )
    return read(reading)


def _near(word: str, known: Sequence[str] | Mapping[str, Any]) -> str:
    return nearest([word], list(known))


@dataclass(frozen=True, slots=True)
class _Reading:
    table: Mapping[str, object]
    where: str
    folder: Path

    def wrong(self, key: str, must_be: str) -> Invalid:
        return Invalid(f"{self.where}: `{key}` is {self.table[key]!r}; it must be {must_be}")

    def text(self, key: str, shape: re.Pattern[str] | None = None, must_be: str = "text", default: str = "") -> str:
        """What is not there is the default."""
        value = self.table.get(key, default)
        is_right = isinstance(value, str) and (key not in self.table or shape is None or shape.fullmatch(value))
        if not isinstance(value, str) or not is_right:
            raise self.wrong(key, must_be)
        return value

    def needed(self, key: str, shape: re.Pattern[str], must_be: str) -> str:
        if key not in self.table:
            raise Invalid(f"{self.where}: `{key}` is missing; give {must_be}")
        return self.text(key, shape, must_be)

    def file(self, key: str) -> Path | None:
        value = self.text(key, re.compile(r"[^\0]+"), "the path of a file")
        return self.folder / value if value else None

    def port(self) -> int:
        value = self.table.get("port", 0)
        is_whole = isinstance(value, int) and not isinstance(value, bool)
        if not isinstance(value, int) or not is_whole or ("port" in self.table and not 1 <= value <= _MAX_PORT):
            raise self.wrong("port", f"a number from 1 to {_MAX_PORT}")
        return value

    def proxy(self) -> tuple[str, ...]:
        value = self.table.get("proxy", list(PROXY))
        is_list = isinstance(value, list) and value and all(isinstance(word, str) and word for word in value)
        if not isinstance(value, list) or not is_list or any("\0" in word for word in value):
            raise self.wrong("proxy", f'a list of words, such as {list(PROXY)} ("a command that joins its ends")')
        return tuple(value)

    def tls(self) -> TlsFiles:
        found = TlsFiles(self.file("ca_file"), self.file("cert_file"), self.file("key_file"))
        if (found.cert_file is None) != (found.key_file is None):
            raise Invalid(f"{self.where}: `cert_file` and `key_file` go together; give both, or neither")
        return found


def _local(reading: _Reading) -> Place:
    return Local(reading.proxy())


def _ssh(reading: _Reading) -> Place:
    given = reading.needed("host", re.compile(r"\S+"), 'the name or address of a machine, such as "build@10.0.0.4"')
    user, at, host = given.rpartition("@")
    if at and "user" in reading.table:
        raise Invalid(f"{reading.where}: `host` names a user, and so does `user`; name it once")
    user = user or reading.text("user", _USER, "the name of a user")
    host = host.removeprefix("[").removesuffix("]")
    if not _HOST.fullmatch(host) or (at and not _USER.fullmatch(user)):
        raise reading.wrong("host", 'the name or address of a machine, with a user or without: "build@10.0.0.4"')
    return Ssh(
        host, user, reading.port(), reading.file("identity_file"), reading.file("known_hosts_file"), reading.proxy()
    )


def _docker(reading: _Reading) -> Place:
    host, tls = reading.text("host", default=DOCKER_HOST), reading.tls()
    if not _is_unix(host) and not _is_address(host, "tcp"):
        raise reading.wrong(
            "host", 'an address of a Docker Engine: "unix:///var/run/docker.sock", "tcp://10.0.0.4:2376"'
        )
    if tls and _is_unix(host):
        raise Invalid(f"{reading.where}: certificates are for `tcp://` hosts; take them out, or name such a `host`")
    container = reading.needed("container", _CONTAINER, "the name or id of a container")
    user = reading.text("user", _CONTAINER_USER, "a user of the container, such as `build` or `1000:1000`")
    return Docker(container, host, user, tls, reading.proxy())


def _kubernetes(reading: _Reading) -> Place:
    host = reading.text("host").rstrip("/")
    if host and not _is_address(host, "https") and not (_is_address(host, "http") and _is_here(host)):
        raise reading.wrong("host", 'the address of an API server, such as "https://10.0.0.4:6443"; http:// goes to '
                            "this machine only, for `kubectl proxy`")  # fmt: skip
    name = "a name of Kubernetes: small letters, digits, `-` and `.`"
    return Kubernetes(
        reading.needed("pod", _KUBERNETES_NAME, name),
        reading.text("container", _KUBERNETES_NAME, name),
        reading.text("namespace", _KUBERNETES_NAME, name),
        host,
        reading.file("token_file"),
        reading.tls(),
        reading.proxy(),
    )


def _is_unix(host: str) -> bool:
    return host.startswith("unix:///") and "\0" not in host


def _is_address(host: str, scheme: str) -> bool:
    """Whether it names a machine; a port must be there for `tcp`, and nothing follows."""
    try:
        parts = urlsplit(host)
        port = parts.port
    except ValueError:
        return False
    is_bare = not (parts.username or parts.query or parts.fragment) and host.isprintable() and " " not in host
    has_all = port is not None and parts.path in ("", "/") if scheme == "tcp" else True
    return parts.scheme == scheme and bool(parts.hostname) and is_bare and has_all


def _is_here(host: str) -> bool:
    name = urlsplit(host).hostname or ""
    try:
        return ip_address(name).is_loopback
    except ValueError:
        return name == "localhost"


_TLS: Final = ("ca_file", "cert_file", "key_file")
_WAYS: Final[Mapping[str, tuple[tuple[str, ...], Callable[[_Reading], Place]]]] = {
    "local": (("way", "proxy"), _local),
    "ssh": (("way", "host", "user", "port", "identity_file", "known_hosts_file", "proxy"), _ssh),
    "docker": (("way", "host", "container", "user", *_TLS, "proxy"), _docker),
    "kubernetes": (("way", "host", "namespace", "pod", "container", "token_file", *_TLS, "proxy"), _kubernetes),
}
"""Each way: its keys, and what reads them."""
