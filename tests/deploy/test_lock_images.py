"""Images of the container set by digest: asked of a real registry by skopeo, written as a file that compose merges."""

import asyncio
import hashlib
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest
import yaml

from deploy.lock_images import dockerfiles, override
from rigs.ports import LOCAL, free_port
from tests.deploy.test_compose import DOCKERFILE, ROOT, compose
from tests.e2e.images import Skopeo, needed, oci_image
from tests.program import Program, environment, running
from tests.waiting import HANGS, eventually

CONFIG = """
version: 0.1
log: {{level: warn, accesslog: {{disabled: true}}}}
storage: {{filesystem: {{rootdirectory: {folder}/images}}}}
http: {{addr: "{address}", secret: tests}}
"""
SET = """
services:
  api: {{image: "perdure:latest", build: .}}
  database: {{image: "{address}/database:16"}}
  copy: {{image: "{address}/database:16"}}
"""


@pytest.fixture
async def registry(tmp_path: Path) -> AsyncIterator[str]:
    """Address of a registry that asks nobody, with an image `database:16`."""
    address = f"{LOCAL}:{free_port()}"
    config = tmp_path / "registry.yml"
    config.write_text(CONFIG.format(folder=tmp_path, address=address))

    async def answers() -> bool:
        try:
            async with httpx.AsyncClient(timeout=HANGS) as client:
                return (await client.get(f"http://{address}/v2/")).status_code == httpx.codes.OK
        except httpx.TransportError:
            return False

    program = Program([needed("docker-registry"), "serve", config], tmp_path / "registry.log")
    async with running(program):
        await eventually(answers, "the registry answers", within=60)
        await push(tmp_path, address, "first")
        yield address


async def push(folder: Path, address: str, text: str) -> str:
    """Move the tag to another image; its digest."""
    source = oci_image(folder / text, text)
    code, said = await Skopeo(folder).copy(f"oci:{source}:latest", f"docker://{address}/database:16")
    assert code == 0, said
    async with httpx.AsyncClient(timeout=HANGS) as client:
        accept = {"Accept": "application/vnd.oci.image.manifest.v1+json"}
        found = await client.get(f"http://{address}/v2/database/manifests/16", headers=accept)
    assert found.headers["Docker-Content-Digest"] == f"sha256:{hashlib.sha256(found.content).hexdigest()}"
    return str(found.headers["Docker-Content-Digest"])


async def lock(folder: Path, address: str, base: str) -> subprocess.CompletedProcess[str]:
    """What an operator runs, for a small set whose registry speaks no TLS."""
    (folder / "docker-compose.yml").write_text(SET.format(address=address))
    (folder / "Dockerfile").write_text(f"ARG PYTHON_IMAGE={base}\nFROM $PYTHON_IMAGE\n")
    insecure = folder / ".config" / "containers" / "registries.conf"
    insecure.parent.mkdir(parents=True)
    insecure.write_text(f'[[registry]]\nlocation = "{address}"\ninsecure = true\n')
    words: list[str | Path] = [
        "--set",
        folder / "docker-compose.yml",
        "--output",
        folder / "docker-compose.override.yml",
    ]
    command: list[str | Path] = [sys.executable, ROOT / "deploy" / "lock_images.py", *words]
    env = environment(HOME=str(folder))
    return await asyncio.to_thread(
        lambda: subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    )


async def test_a_tag_that_moves_later_changes_nothing(tmp_path: Path, registry: str) -> None:
    image = f"{registry}/database:16"
    before = await push(tmp_path, registry, "second")
    done = await lock(tmp_path, registry, image)
    assert done.returncode == 0, done.stderr
    written = yaml.safe_load((tmp_path / "docker-compose.override.yml").read_text())
    assert written["services"] == {
        "api": {"build": {"args": {"PYTHON_IMAGE": f"{image}@{before}"}}},
        "database": {"image": f"{image}@{before}"},
        "copy": {"image": f"{image}@{before}"},
    }
    assert await push(tmp_path, registry, "third") != before
    inspected = Skopeo(tmp_path)
    code, said = await inspected.copy(f"docker://{registry}/database@{before}", f"oci:{tmp_path / 'kept'}:latest")
    assert code == 0, said


async def test_an_image_that_is_not_there_is_named_and_nothing_is_written(tmp_path: Path, registry: str) -> None:
    done = await lock(tmp_path, registry, f"{registry}/nowhere:1")
    assert done.returncode == 1
    assert f"{registry}/nowhere:1" in done.stderr
    assert not (tmp_path / "docker-compose.override.yml").exists()


def test_the_file_of_the_set_is_valid_and_every_service_is_in_it(tmp_path: Path) -> None:
    """What compose reads beside the set; the digest stands for those that a registry would tell."""
    content = compose()
    bases = {"PYTHON_IMAGE": "python:3.11-slim"}
    known = {service["image"]: f"{service['image']}@sha256:{'5' * 64}" for service in content["services"].values()}
    written = override(content, known | {"python:3.11-slim": "python@sha256:" + "5" * 64}, bases)
    assert written["services"].keys() == content["services"].keys()
    file = tmp_path / "docker-compose.override.yml"
    file.write_text(yaml.safe_dump(written))
    check = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec", str(file)]
    done = subprocess.run(check, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("file", ["docker-compose.yml", "deploy/pods/docker-compose.yml"])
def test_the_images_that_ours_are_built_on_are_found_from_wherever_a_set_is(file: str) -> None:
    assert dockerfiles(ROOT / file, yaml.safe_load((ROOT / file).read_text())) == [DOCKERFILE]


def test_every_image_of_the_build_can_be_named_from_outside() -> None:
    lines = [line for line in DOCKERFILE.read_text().splitlines() if line.startswith("FROM ")]
    assert lines
    assert all(line.split()[1] == "$PYTHON_IMAGE" for line in lines)
    assert "ARG PYTHON_IMAGE=" in DOCKERFILE.read_text().split("FROM ")[0]
