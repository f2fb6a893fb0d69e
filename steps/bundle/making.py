"""Makes one file of the step runner: PyInstaller gathers it, and a few lines of shell unpack it where it is started.

PyInstaller's own single file unpacks itself anew with each start, and takes that away when its first process ends, from
under whatever goes on.
"""

import gzip
import hashlib
import importlib.util
import io
import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Final

from domain.errors import Invalid, Unavailable
from steps.own_program import PARTS, START

NAME: Final = "step-runner"
ROOT: Final = Path(__file__).resolve().parents[2]
WITHOUT: Final = (
    *(
        "boto3",
        "botocore",
        "chardet",
        "cryptography",
        "docker",
        "OpenSSL",
        "simplejson",
        "socks",
    ),  # if oras is asked to
    *("greenlet", "twisted", "zope", "better_exceptions"),  # if structlog is
    *("grpc_tools", "grpc_health", "grpc_reflection", "numpy"),  # if gRPC is
    *("hypothesis", "mypy", "dotenv", "email_validator", "pydantic.v1", "pydantic.mypy"),  # if pydantic is
    *("cffi", "_cffi_backend", "zstandard.backend_cffi", "zstandard._cffi"),  # if zstandard is
    *("IPython", "django", "pytest", "setuptools", "sphinx", "tkinter"),
)
"""Packages that ours use where they are there, and can do without."""
_HEAD: Final = Path(__file__).with_name("head.sh")
_START: Final = Path(__file__).with_name("start.sh")
_TIMEOUT: Final = 900.0
_LAST: Final = 2_000
"""Characters of what PyInstaller says that are shown where it fails."""


def make_bundle(entry: str, output: Path) -> int:
    """Write the file whose program is the module `entry`; its bytes.

    Raises `Unavailable` without PyInstaller, `Invalid` where that fails.
    """
    if importlib.util.find_spec("PyInstaller") is None:
        raise Unavailable("A bundle is made by PyInstaller, which is not installed: pip install 'perdure[bundle]'.")
    found = importlib.util.find_spec(entry)
    assert found is not None
    assert found.origin is not None
    with tempfile.TemporaryDirectory(prefix="perdure-bundle-") as name:
        content = packed(_gathered(Path(found.origin), Path(name)))
    draft = output.with_name(f".{output.name}.draft")
    try:
        draft.write_bytes(with_head(content))
        draft.chmod(0o755)
        draft.rename(output)
    finally:
        draft.unlink(missing_ok=True)
    return output.stat().st_size


def _gathered(entry: Path, folder: Path) -> Path:
    """The folder that PyInstaller makes: a program, and all that it needs but the C library."""
    command = [sys.executable, "-m", "PyInstaller", "--noconfirm", "--onedir", "--log-level", "WARN", "--name", NAME]
    if sys.platform == "linux":
        command.append("--strip")  # two thirds of some libraries are for debuggers
    command += ["--distpath", str(folder / "made"), "--workpath", str(folder / "work"), "--specpath", str(folder)]
    command += ["--paths", str(ROOT)]
    for place in ("builtin", "proto/step_runner.proto", "proto/runs.proto"):
        inside = f"steps/{place}" if (ROOT / "steps" / place).is_dir() else "steps/proto"
        command += ["--add-data", f"{ROOT / 'steps' / place}{os.pathsep}{inside}"]
    for module in PARTS.values():
        command += ["--hidden-import", module]
    for module in WITHOUT:
        command += ["--exclude-module", module]
    environment = {**os.environ, "PYINSTALLER_CONFIG_DIR": str(folder / "settings")}
    done = subprocess.run(
        [*command, str(entry)],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=_TIMEOUT,
        check=False,
    )
    if done.returncode:
        raise Invalid(f"PyInstaller has failed:\n{done.stderr[-_LAST:].strip()}")
    start = folder / "made" / NAME / START
    start.write_text(_START.read_text())
    start.chmod(0o755)
    return start.parent


def packed(folder: Path) -> bytes:
    """The folder as an archive; the same bytes for the same files."""
    target = io.BytesIO()
    with (
        gzip.GzipFile("", "wb", fileobj=target, mtime=0) as zipped,
        tarfile.open(fileobj=zipped, mode="w", format=tarfile.USTAR_FORMAT) as archive,
    ):
        for path in sorted(folder.rglob("*")):
            entry = archive.gettarinfo(path, str(path.relative_to(folder)))
            entry.uid = entry.gid = entry.mtime = 0
            entry.uname = entry.gname = ""
            with path.open("rb") if entry.isreg() else io.BytesIO() as file:
                archive.addfile(entry, file)
    return target.getvalue()


def with_head(content: bytes) -> bytes:
    """The archive behind the lines that unpack it; they count bytes from 1, as `tail` does."""
    head = _HEAD.read_text().replace("@HASH@", hashlib.sha256(content).hexdigest()[:32])
    marker, width = "@OFFSET@", 8
    offset = len(head) - len(marker) + width + 1
    return head.replace(marker, f"{offset:<{width}}").encode() + content
