"""A small container image made by hand, a real registry to keep it in, and a real client to carry it."""

import asyncio
import gzip
import hashlib
import io
import json
import os
import shutil
import tarfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from rigs.ports import LOCAL
from tests.program import Program, environment, running
from tests.waiting import HANGS, eventually

CONFIG = """
version: 0.1
log: {{level: warn, accesslog: {{disabled: true}}}}
storage: {{filesystem: {{rootdirectory: {folder}/images}}}}
http: {{addr: "{address}", secret: tests}}
auth:
  token: {{realm: "{url}/jwt/auth", service: container_registry, issuer: perdure, rootcertbundle: {bundle}}}
"""


def needed(name: str) -> str:
    """Path of a program. Without it the test is skipped, or fails where CI=true: there it must be installed."""
    found = shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin:/sbin")
    if found is None:
        if os.environ.get("CI") == "true":
            pytest.fail(f"not run: {name}")
        pytest.skip(f"not run: {name}")
    return found


@asynccontextmanager
async def registry(folder: Path, address: str, url: str, bundle: Path) -> AsyncIterator[None]:
    """A registry at `address` that asks `url` for tokens, and believes the certificates of `bundle`."""
    config = folder / "registry.yml"
    config.write_text(CONFIG.format(folder=folder, address=address, url=url, bundle=bundle))
    program = Program([needed("docker-registry"), "serve", config], folder / "registry.log")

    async def answers() -> bool:
        try:
            async with httpx.AsyncClient(timeout=HANGS) as client:
                return (await client.get(f"http://{address}/v2/")).status_code == httpx.codes.UNAUTHORIZED
        except httpx.TransportError:
            return False

    async with running(program):
        await eventually(answers, "the registry asks for a token", within=60)
        yield


class Skopeo:
    """Copies images; gives back the exit code and what was said."""

    def __init__(self, folder: Path) -> None:
        """With no state but that in `folder`."""
        self._binary = needed("skopeo")
        self._folder = folder

    async def copy(
        self, source: str, target: str, *, pull: str = "", push: str = "", form: str = ""
    ) -> tuple[int, str]:
        """Copy an image; `pull` and `push` are `user:password` for either side, `form` is what the target gets."""
        options = [
            *(("--format", form) if form else ()),
            *(("--src-creds", pull) if pull else ()),
            *(("--dest-creds", push) if push else ()),
        ]
        process = await asyncio.create_subprocess_exec(
            self._binary,
            *("--insecure-policy", "--tmpdir", str(self._folder), "copy"),
            *("--src-tls-verify=false", "--dest-tls-verify=false", *options, source, target),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            env=environment(HOME=str(self._folder), XDG_RUNTIME_DIR=str(self._folder)),
        )
        said, _ = await process.communicate()
        assert process.returncode is not None
        return process.returncode, said.decode()


def oci_image(folder: Path, text: str) -> Path:
    """An OCI layout with one image `latest`, whose only layer holds one file with this text."""
    blobs = folder / "blobs" / "sha256"
    blobs.mkdir(parents=True)

    def blob(content: bytes, kind: str) -> dict[str, Any]:
        name = hashlib.sha256(content).hexdigest()
        (blobs / name).write_bytes(content)
        return {"mediaType": f"application/vnd.oci.image.{kind}", "digest": f"sha256:{name}", "size": len(content)}

    layer = io.BytesIO()
    with tarfile.open(fileobj=layer, mode="w") as archive:
        entry = tarfile.TarInfo("hello")
        entry.size = len(text)
        archive.addfile(entry, io.BytesIO(text.encode()))
    raw = layer.getvalue()
    roots = {"type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(raw).hexdigest()}"]}
    settings = {"architecture": "amd64", "os": "linux", "config": {}, "rootfs": roots}
    config = blob(json.dumps(settings).encode(), "config.v1+json")
    layers = [blob(gzip.compress(raw), "layer.v1.tar+gzip")]
    manifest = blob(json.dumps({"schemaVersion": 2, "config": config, "layers": layers}).encode(), "manifest.v1+json")
    named = {**manifest, "annotations": {"org.opencontainers.image.ref.name": "latest"}}
    (folder / "index.json").write_text(json.dumps({"schemaVersion": 2, "manifests": [named]}))
    (folder / "oci-layout").write_text('{"imageLayoutVersion": "1.0.0"}')
    return folder


def layers_of(layout: Path) -> list[str]:
    """The digests of the layers of the one image in an OCI layout."""
    (named,) = json.loads((layout / "index.json").read_text())["manifests"]
    manifest = layout / "blobs" / "sha256" / named["digest"].removeprefix("sha256:")
    return [layer["digest"] for layer in json.loads(manifest.read_text())["layers"]]


def local_address(port: int) -> str:
    """Where a registry of a test listens."""
    return f"{LOCAL}:{port}"
