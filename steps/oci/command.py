"""The part of the step runner that talks to registries: a process of its own, which is ended with the run that waits.

fetch REGISTRY REPOSITORY TAG [OUTPUTS]           writes the digest, and folder and digest as outputs of a step
publish REGISTRY REPOSITORY TAG FOLDER OUTPUTS    writes the digest, and that as an output of a step
"""

import json
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from domain.errors import Invalid, PerdureError
from domain.steps.references import OciReference, checked_oci
from steps.engine.builtin_steps import CACHE_VARIABLE
from steps.oci.fetching import fetched
from steps.oci.kept_images import THIS_MACHINE, place_of, tree_of
from steps.oci.logins import login_for
from steps.oci.packing import packed

if TYPE_CHECKING:
    from steps.oci.registry import Images


def main() -> None:
    """Do what the arguments say; a fault is a line on standard error, and exit status 1."""
    try:
        what, registry, repository, tag, *others = sys.argv[1:]
        reference = checked_oci(registry, repository, tag)
        if what == "fetch":
            _fetch(reference, others)
        else:
            _publish(reference, *others)
    except (PerdureError, OSError) as error:
        sys.stderr.write(f"{error}\n")
        sys.exit(1)


def _fetch(reference: OciReference, outputs: Sequence[str]) -> None:
    cache = Path(os.environ[CACHE_VARIABLE])
    digest = fetched(cache, reference, lambda: _images(reference))
    sys.stdout.write(f"{digest}\n")
    if outputs:
        _write(outputs[0], {"folder": str(tree_of(place_of(cache, reference), digest)), "digest": digest})


def _publish(reference: OciReference, name: str, outputs: str) -> None:
    folder = Path(name)
    if not folder.is_dir():
        raise Invalid(f"there is no folder {name}")
    images = _images(reference)
    with tempfile.TemporaryDirectory(prefix="perdure-image-") as aside:
        made = packed(folder, THIS_MACHINE, Path(aside))
        for blob, file in made.blobs:
            images.push(blob, file)
        digest = images.tag(reference.tag, made.manifest)
    sys.stdout.write(f"{digest}\n")
    _write(outputs, {"digest": digest})


def _images(reference: OciReference) -> "Images":
    from steps.oci.registry import Images, address_of  # it takes a while, and most who ask find the image here

    return Images(reference, login_for(address_of(reference.registry)[0], os.environ))


def _write(file: str, outputs: dict[str, str]) -> None:
    lines = [json.dumps({"name": name, "value": value}) for name, value in outputs.items()]
    Path(file).write_text("\n".join(lines) + "\n")
