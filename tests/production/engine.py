"""A container engine of its own for a test: Debian's dockerd in a folder, with images made of Debian's packages.

Nothing is asked of a registry of images. The machine's firewall and forwarding stay as they are, and no other engine is
touched. `PERDURE_TEST_ENGINE=FOLDER` keeps engine and images for the next run.
"""

import asyncio
import fcntl
import os
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import cast

from tests.e2e.images import needed
from tests.foreign.installing import PATIENCE, install_once, not_run
from tests.program import ROOT, Program, environment, running
from tests.waiting import HANGS, eventually

BASE = "python:3.11-slim"
"""The image that ours is built on; all others here are built on it, too."""
PACKAGES = "ca-certificates,python3,python3-pip,python-is-python3"
KEPT = ("/etc/pip.conf", "/etc/ssl/certs/ca-certificates.crt")
PASSED_ON = ("PIP_", "UV_", "SSL_CERT_FILE")
"""Files and variables by which this machine reaches registries of packages: in the base image they are there for each
build, and our Dockerfile needs to know nothing of them."""
_MOUNTED = ("./dev/", "./proc/")
_BRIDGE = "perdure-test0"
_POOL = "base=10.212.0.0/16,size=24"
GATEWAY = "10.211.0.1"
"""There a name server answers containers that are told of it."""


async def call(
    *argv: str | Path, stdin: Path | None = None, variables: Mapping[str, str] = MappingProxyType({})
) -> str:
    """What a command prints; AssertionError with all its output when it fails."""
    with (stdin or Path(os.devnull)).open("rb") as source:
        process = await asyncio.create_subprocess_exec(
            *map(str, argv),
            stdin=source,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=environment(**variables),
        )
        async with asyncio.timeout(PATIENCE):
            out, said = await process.communicate()
    assert process.returncode == 0, f"{' '.join(map(str, argv))}\n{(out + said).decode()[-4000:]}"
    return out.decode()


class Engine:
    """An engine that runs; its client speaks to no other."""

    def __init__(self, folder: Path) -> None:
        """`folder` has its state."""
        self.folder = folder
        self.host = f"unix://{folder / 'socket'}"

    async def docker(self, *argv: str | Path, stdin: Path | None = None) -> str:
        """What the client prints."""
        own = {"DOCKER_HOST": self.host, "DOCKER_CONFIG": str(self.folder / "client"), "DOCKER_BUILDKIT": "0"}
        return (await call(needed("docker"), *argv, stdin=stdin, variables=own)).strip()

    async def import_base(self) -> None:
        """Make the image that ours is built on, unless it is there: Debian with Python, under the same name."""
        if await self.docker("images", "--quiet", BASE):
            return
        root, archive = self.folder / "debian", self.folder / "debian.tar"
        await call(needed("debootstrap"), "--variant=minbase", f"--include={PACKAGES}", "bookworm", root)
        for marker in root.glob("usr/lib/python3*/EXTERNALLY-MANAGED"):
            marker.unlink()  # the image of that name lets pip install where its own packages are
        for cached in (root / "var/cache/apt/archives").glob("*.deb"):
            cached.unlink()
        for file in map(Path, KEPT):
            if file.exists():
                shutil.copy(file, root / file.relative_to("/"))
        with tarfile.open(archive, "w") as packed:
            packed.add(root, ".", filter=lambda entry: None if entry.name.startswith(_MOUNTED) else entry)
        shutil.rmtree(root)
        changes = [f"--change=ENV {name}={value}" for name, value in os.environ.items() if name.startswith(PASSED_ON)]
        await self.docker("import", *changes, "-", BASE, stdin=archive)
        archive.unlink()

    async def build(self, context: Path, tag: str, *options: str) -> None:
        """An image of a folder; its steps reach what this machine reaches."""
        await self.docker("build", "--network=host", "--tag", tag, *options, context)

    async def compose(self, files: Path, *argv: str | Path) -> str:
        """Docker's own compose on the set of this repository; `files` has its `.env` and what is told it beside."""
        told = ("--file", ROOT / "docker-compose.yml", "--file", files / "beside.yml", "--env-file", files / ".env")
        binary = await asyncio.to_thread(compose_binary)
        return await call(binary, *told, *argv, variables={"DOCKER_HOST": self.host})


def compose_binary() -> Path:
    """Compose v2, which Debian 12 does not have: built from its Go module."""
    go = shutil.which("go") or shutil.which("go", path="/usr/local/go/bin")
    if go is None:
        not_run("no go")
    home, source = ROOT / ".perdure" / "compose", Path(__file__).with_name("compose")
    made, in_it = home / "docker-compose", (go, "-C", home)
    commands = ((*in_it, "mod", "tidy"), (*in_it, "build", "-o", made, "github.com/docker/compose/v2/cmd"))
    install_once(home, (source / "go.mod").read_text(), ("cp", "-r", source, home), *commands)
    return made


@asynccontextmanager
async def engine() -> AsyncIterator[Engine]:
    """Start an engine; end it, and remove all of it unless it is to be kept."""
    dockerd, ip, _ = (needed(name) for name in ("dockerd", "ip", "docker"))
    if os.geteuid() != 0:
        not_run("a container engine needs root")
    kept = os.environ.get("PERDURE_TEST_ENGINE")
    # Not in memory, where the other tests are: images are gigabytes.
    folder = Path(kept or tempfile.mkdtemp(prefix="perdure-engine-", dir="/var/tmp"))
    await asyncio.to_thread(folder.mkdir, exist_ok=True)
    try:
        with _bridge(ip):
            async with _daemon(folder, dockerd) as made:
                yield made
    finally:
        if not kept:
            await asyncio.to_thread(_remove, folder)


def _remove(folder: Path) -> None:
    """All of an engine that has ended; it leaves the namespace of its network mounted."""
    mounted = [line.split()[1] for line in Path("/proc/mounts").read_text().splitlines()]
    for place in reversed([place for place in mounted if place.startswith(f"{folder}/")]):
        subprocess.run(["umount", place], check=True)
    shutil.rmtree(folder)


@contextmanager
def _bridge(ip: str) -> Iterator[None]:
    """The bridge of one engine at a time, since all have the same addresses; one that is there is of a killed run."""
    with Path("/var/tmp/perdure-engine.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if Path("/sys/class/net", _BRIDGE).exists():
            subprocess.run([ip, "link", "delete", _BRIDGE], check=True)
        subprocess.run([ip, "link", "add", _BRIDGE, "type", "bridge"], check=True)
        try:
            subprocess.run([ip, "address", "add", f"{GATEWAY}/24", "dev", _BRIDGE], check=True)
            subprocess.run([ip, "link", "set", _BRIDGE, "up"], check=True)
            yield
        finally:
            subprocess.run([ip, "link", "delete", _BRIDGE], check=True)


class _NoSuchName(asyncio.DatagramProtocol):
    """A name server that knows no name: whoever asks for one outside of the set would else wait for the answer."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep what answers are sent by."""
        self._transport = cast("asyncio.DatagramTransport", transport)

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        """Send the question back, with the code for a name that does not exist."""
        self._transport.sendto(data[:2] + b"\x81\x83" + data[4:], addr)


@asynccontextmanager
async def _daemon(folder: Path, binary: str) -> AsyncIterator[Engine]:
    made = Engine(folder)
    places = ("--data-root", folder / "data", "--exec-root", folder / "exec", "--pidfile", folder / "pid")
    quiet = ("--iptables=false", "--ip-forward=false", "--ip-masq=false")  # the machine's network stays as it is
    networks = (f"--bridge={_BRIDGE}", "--default-address-pool", _POOL)
    program = Program([binary, "--host", made.host, *places, *networks, *quiet], folder / "dockerd.log")

    async def answers() -> bool:
        assert program.running, program.output()
        return (folder / "socket").exists() and "API listen on" in program.output()

    names, _ = await asyncio.get_running_loop().create_datagram_endpoint(_NoSuchName, local_addr=(GATEWAY, 53))
    try:
        async with running(program):
            await eventually(answers, "the engine answers", HANGS)
            yield made
    finally:
        names.close()
