"""Writes a file that names the images of the container set by what is in them now, not by a tag that may move.

    .venv/bin/python deploy/lock_images.py    # asks the registries with skopeo; writes docker-compose.override.yml
    docker compose up --detach                # reads both files

It is run again after an upgrade, or to take newer images with the same tags.
"""

import argparse
import hashlib
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[1]
SET = ROOT / "docker-compose.yml"
OVERRIDE = "docker-compose.override.yml"
BASE = re.compile(r"^ARG (\w+_IMAGE)=(\S+)$", re.MULTILINE)
PATIENCE = 120
"""Seconds for one answer of a registry."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the file, and say what is in it; 1 if a registry does not tell."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--set", type=Path, default=SET, help="the file of the container set")
    parser.add_argument("--output", type=Path, help=f"what is written ({OVERRIDE} beside the set)")
    options = parser.parse_args(arguments)
    output: Path = options.output or options.set.parent / OVERRIDE
    content = yaml.safe_load(options.set.read_text())
    bases = dict(pair for file in dockerfiles(options.set, content) for pair in BASE.findall(file.read_text()))
    try:
        locked = {image: f"{image}@{digest(image)}" for image in sorted({*images(content), *bases.values()})}
    except (OSError, subprocess.SubprocessError) as error:
        sys.stderr.write(f"Nothing is written: {error}\n")
        return 1
    output.write_text(
        "# Written by deploy/lock_images.py.\n" + yaml.safe_dump(override(content, locked, bases), sort_keys=True)
    )
    sys.stdout.write("\n".join((*locked.values(), f"Written to {output}.\n")))
    return 0


def dockerfiles(place: Path, content: dict[str, Any]) -> list[Path]:
    """What our own images are built by; a set that builds none has none."""
    builds = [service["build"] for service in content["services"].values() if "build" in service]
    folders = {build["context"] if isinstance(build, dict) else build for build in builds}
    return sorted((place.parent / folder / "Dockerfile").resolve() for folder in folders)


def images(content: dict[str, Any]) -> list[str]:
    """The images that are taken from a registry; our own is built."""
    return [service["image"] for service in content["services"].values() if "build" not in service]


def digest(image: str) -> str:
    """What the registry has under this name now: the digest of the manifest of all its platforms."""
    done = subprocess.run(
        ["skopeo", "inspect", "--raw", f"docker://{image}"],
        capture_output=True,
        timeout=PATIENCE,
        check=False,
    )
    if done.returncode != 0:
        raise subprocess.SubprocessError(f"skopeo says of {image}: {done.stderr.decode(errors='replace').strip()}")
    return f"sha256:{hashlib.sha256(done.stdout).hexdigest()}"


def override(content: dict[str, Any], locked: dict[str, str], bases: dict[str, str]) -> dict[str, Any]:
    """The part of a set that changes."""
    arguments = {"build": {"args": {name: locked[image] for name, image in bases.items()}}}
    services = content["services"].items()
    return {
        "services": {
            name: arguments if "build" in service else {"image": locked[service["image"]]} for name, service in services
        }
    }


if __name__ == "__main__":
    sys.exit(main())
