"""Fetches the image of a step, once a version, whoever asks for it at the same time."""

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from domain.steps.images import Blob, Compression, chosen, read_index, read_layers
from domain.steps.references import OciReference
from steps.oci.kept_images import THIS_MACHINE, known, place_of
from steps.oci.unpacking import Unpacking

if TYPE_CHECKING:
    from steps.oci.registry import Images


def fetched(cache: Path, reference: OciReference, images: "Callable[[], Images]") -> str:
    """The digest of an image, whose files are here then; `images` opens the registry where that has to be asked.

    Raises `Invalid` and `TooLarge`.
    """
    place = place_of(cache, reference)
    with place.locked(lambda: None):
        if digest := known(place, reference.tag):
            return digest
        source = images()
        digest, manifest = _resolved(source, reference.tag)
        layers = read_layers(manifest)
        kinds = [layer.compression for layer in layers]
        place.made(digest.removeprefix("sha256:"), lambda draft: _fill(source, layers, kinds, draft))
        place.note(reference.tag, digest)
        return digest


def _resolved(source: "Images", tag: str) -> tuple[str, bytes]:
    """The image of a tag for this machine. One that is alone is for all machines: whoever has put it there said so."""
    content, digest = source.manifest(tag)
    index = read_index(content)
    if index is not None:
        digest = chosen(index, THIS_MACHINE).digest
        content, _ = source.manifest(digest)
    return digest, content


def _fill(source: "Images", layers: list[Blob], kinds: list[Compression], draft: Path) -> None:
    unpacking = Unpacking(draft)
    with tempfile.TemporaryDirectory(prefix=".layers-", dir=draft.parent) as aside:
        for number, (layer, kind) in enumerate(zip(layers, kinds, strict=True)):
            file = Path(aside) / str(number)
            source.fetch(layer, file)
            unpacking.unpack(file, kind)
            file.unlink()
