"""Where steps run that do not run beside their caller, and how they are reached.

Source: docs/steps.md, "Elsewhere".
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

PROXY: Final = ("perdure", "step-runner", "proxy")
"""The command that joins its input and output with the socket of the step runner, there."""
DOCKER_HOST: Final = "unix:///var/run/docker.sock"


@dataclass(frozen=True, slots=True)
class Local:
    """On this machine."""

    proxy: tuple[str, ...] = PROXY

    def __str__(self) -> str:
        """In words."""
        return "this machine"


@dataclass(frozen=True, slots=True)
class Ssh:
    """On a machine that OpenSSH's client reaches. What is empty is as that client has it."""

    host: str
    user: str = ""
    port: int = 0
    identity_file: Path | None = None
    known_hosts_file: Path | None = None
    proxy: tuple[str, ...] = PROXY

    def __str__(self) -> str:
        """In words."""
        return f"{self.user}{'@' if self.user else ''}{self.host}{f' port {self.port}' if self.port else ''} by SSH"


@dataclass(frozen=True, slots=True)
class TlsFiles:
    """PEM files: who signs for the other side (the machine's authorities where there is none), and who we are."""

    ca_file: Path | None = None
    cert_file: Path | None = None
    key_file: Path | None = None

    def __bool__(self) -> bool:
        """Whether any is named."""
        return any((self.ca_file, self.cert_file, self.key_file))


@dataclass(frozen=True, slots=True)
class Docker:
    """In a container of a Docker Engine at `unix:///path` or `tcp://host:port`; with `tls` files the latter is TLS."""

    container: str
    host: str = DOCKER_HOST
    user: str = ""
    tls: TlsFiles = TlsFiles()
    proxy: tuple[str, ...] = PROXY

    def __str__(self) -> str:
        """In words."""
        return f"container {self.container} of the Docker Engine at {self.host}"


@dataclass(frozen=True, slots=True)
class Kubernetes:
    """In a container of a pod. Without a `host` all that is empty is as the pod has it that this process is in."""

    pod: str
    container: str = ""
    namespace: str = ""
    host: str = ""
    token_file: Path | None = None
    tls: TlsFiles = TlsFiles()
    proxy: tuple[str, ...] = PROXY

    def __str__(self) -> str:
        """In words."""
        container = f"container {self.container} of " if self.container else ""
        namespace = f"{self.namespace}/" if self.namespace else ""
        return f"{container}pod {namespace}{self.pod} of Kubernetes{f' at {self.host}' if self.host else ''}"


Place: TypeAlias = Local | Ssh | Docker | Kubernetes
