"""OpenSSH's server on a port of this machine, with keys and a configuration of its own."""

import asyncio
import getpass
import os
import shutil
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from domain.steps.places import PROXY, Ssh
from rigs.ports import free_port

_PRIVILEGES = Path("/run/sshd")
"""A folder that root's sshd wants; Debian's unit makes it."""


def sshd() -> str:
    """Its path. Without it the test is skipped, or fails where CI=true: there it must be installed."""
    found = shutil.which("sshd", path=os.environ.get("PATH", "") + ":/usr/sbin:/usr/local/sbin")
    if found is None or shutil.which("ssh") is None:
        if os.environ.get("CI") == "true":
            pytest.fail("not run: openssh-server")
        pytest.skip("not run: openssh-server")
    if os.geteuid() == 0:
        _PRIVILEGES.mkdir(mode=0o755, exist_ok=True)
    return found


def key(path: Path) -> Path:
    """A new private key; its public half is beside it."""
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "test", "-f", path], check=True)
    return path


@dataclass
class SshServer:
    """Where it is, and who gets in."""

    folder: Path
    port: int
    said: list[str] = field(default_factory=list)

    def place(self, port: int = 0, proxy: tuple[str, ...] = PROXY, identity: str = "user_key") -> Ssh:
        """It as a place, by the port of a relay or its own; the host key is known for that port."""
        port = port or self.port
        known = self.folder / f"known hosts {port}"  # with a blank, as a path may have one
        known.write_text(f"[127.0.0.1]:{port} {(self.folder / 'host_key.pub').read_text()}")
        return Ssh("127.0.0.1", getpass.getuser(), port, self.folder / identity, known, proxy)


@asynccontextmanager
async def ssh_server(folder: Path) -> AsyncIterator[SshServer]:
    """It is there until the block ends."""
    program, port = sshd(), free_port()
    host_key = key(folder / "host_key")
    known = key(folder / "user_key").with_suffix(".pub").read_text()
    (folder / "authorized").write_text(known)
    key(folder / "strange_key")
    configuration = folder / "sshd_config"
    configuration.write_text(
        f"ListenAddress 127.0.0.1:{port}\nHostKey {host_key}\nAuthorizedKeysFile {folder}/authorized\n"
        "PidFile none\nUsePAM no\nStrictModes no\nPasswordAuthentication no\nKbdInteractiveAuthentication no\n"
        "PermitRootLogin yes\nMaxStartups 100\n"
    )
    process = await asyncio.create_subprocess_exec(
        program, "-D", "-e", "-f", configuration, stderr=asyncio.subprocess.PIPE, stdin=asyncio.subprocess.DEVNULL
    )
    assert process.stderr is not None
    server = SshServer(folder, port)
    while line := (await process.stderr.readline()).decode():
        server.said.append(line)
        if "Server listening on" in line:
            break
    else:
        raise AssertionError("".join(server.said))
    reading = asyncio.create_task(_hear(process.stderr, server.said))
    try:
        yield server
    finally:
        process.terminate()
        await process.wait()
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)


async def _hear(stderr: asyncio.StreamReader, said: list[str]) -> None:
    while line := await stderr.readline():
        said.append(line.decode())
