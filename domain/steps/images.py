"""What a registry says of an image: the images for several machines, and the layers of one.

Source: docs/reference/steps.md, "Steps in images".
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from domain.errors import Invalid

MAX_MANIFEST: Final = 4 * 1024 * 1024
"""Bytes of a manifest or an index."""
MAX_LAYERS: Final = 127
"""Layers of an image, as Docker has it."""
INDEX_TYPES: Final = (
    "application/vnd.oci.image.index.v1+json",
    "application/vnd.docker.distribution.manifest.list.v2+json",
)
MANIFEST_TYPES: Final = (
    "application/vnd.oci.image.manifest.v1+json",
    "application/vnd.docker.distribution.manifest.v2+json",
)
LAYER_TYPE: Final = "application/vnd.oci.image.layer.v1.tar+gzip"
CONFIG_TYPE: Final = "application/vnd.oci.image.config.v1+json"
DIGEST: Final = re.compile(r"sha256:[0-9a-f]{64}")
_LAYER: Final = re.compile(
    r"application/vnd\.(?:oci\.image\.layer\.v1\.tar(?:\+(?P<oci>gzip|zstd))?"
    r"|docker\.image\.rootfs\.diff\.tar(?:\.(?P<docker>gzip|zstd))?)"
)
_ARCHITECTURES: Final[Mapping[str, tuple[str, str]]] = {
    "x86_64": ("amd64", ""),
    "aarch64": ("arm64", "v8"),
    "armv7l": ("arm", "v7"),
    "armv6l": ("arm", "v6"),
    "i686": ("386", ""),
    "i386": ("386", ""),
    "ppc64le": ("ppc64le", ""),
    "s390x": ("s390x", ""),
    "riscv64": ("riscv64", ""),
}
"""By the kernel's name of a machine: that of images, and the variant."""


class Compression(StrEnum):
    """How a layer is packed."""

    NONE = ""
    GZIP = "gzip"
    ZSTD = "zstd"


@dataclass(frozen=True, slots=True)
class Platform:
    """A kind of machine."""

    os: str
    architecture: str
    variant: str = ""

    def __str__(self) -> str:
        return "/".join(part for part in (self.os, self.architecture, self.variant) if part)


@dataclass(frozen=True, slots=True)
class Blob:
    """A thing in a registry, by its digest; `size` in bytes. `platform` is what an index says of it."""

    media_type: str
    digest: str
    size: int
    platform: Platform | None = None

    @property
    def compression(self) -> Compression:
        """Of a layer. Raises `Invalid` for what is no layer that could be unpacked."""
        match = _LAYER.fullmatch(self.media_type)
        if not match:
            raise Invalid(f"a layer of the kind {self.media_type!r} cannot be unpacked; tar, gzip and zstd can")
        return Compression(match["oci"] or match["docker"] or "")


def platform_of(system: str, machine: str) -> Platform:
    """The platform of a machine, as the kernel names both."""
    architecture, variant = _ARCHITECTURES.get(machine, (machine, ""))
    return Platform(system.lower(), architecture, variant)


def read_index(content: bytes) -> list[Blob] | None:
    """The images of an index; None for a document that is none. Raises `Invalid`."""
    document = _document(content)
    entries = document.get("manifests")
    if document.get("mediaType", INDEX_TYPES[0]) not in INDEX_TYPES or not isinstance(entries, list):
        return None
    return [_blob(entry, "an index") for entry in entries]


def read_layers(content: bytes) -> list[Blob]:
    """The layers of an image, lowest first. Raises `Invalid`."""
    document = _document(content)
    layers = document.get("layers")
    if document.get("mediaType", MANIFEST_TYPES[0]) not in MANIFEST_TYPES or not isinstance(layers, list) or not layers:
        raise Invalid("this is no image: it has no layers")
    if len(layers) > MAX_LAYERS:
        raise Invalid(f"an image has at most {MAX_LAYERS} layers; this one has {len(layers):,}")
    return [_blob(layer, "a manifest") for layer in layers]


def chosen(images: Sequence[Blob], machine: Platform) -> Blob:
    """The image that fits a machine best: the newest variant that is not newer than its own. Raises `Invalid`."""
    fitting = [(one.platform.variant, one) for one in images if one.platform and _fits(one.platform, machine)]
    if fitting:
        return max(fitting, key=lambda pair: pair[0])[1]
    known = sorted({str(one.platform) for one in images if one.platform and one.platform.os != "unknown"})
    raise Invalid(f"there is no image for {machine}, only for {', '.join(known) or 'no machine at all'}")


def _fits(platform: Platform, machine: Platform) -> bool:
    is_same = (platform.os, platform.architecture) == (machine.os, machine.architecture)
    return is_same and platform.variant <= machine.variant


def _document(content: bytes) -> Mapping[str, Any]:
    try:
        document = json.loads(content)
    except (ValueError, RecursionError):
        raise Invalid("what the registry says of the image is no JSON") from None
    if not isinstance(document, dict):
        raise Invalid("what the registry says of the image is no object")
    return document


def _blob(entry: Any, where: str) -> Blob:
    if not isinstance(entry, dict):
        raise Invalid(f"{where} names something that is no object")
    media_type, digest, size = entry.get("mediaType"), entry.get("digest"), entry.get("size")
    if not isinstance(media_type, str) or not isinstance(digest, str) or not DIGEST.fullmatch(digest):
        raise Invalid(f"{where} names something without a kind, or without a digest by SHA-256")
    if not isinstance(size, int) or isinstance(size, bool) or size < 0:
        raise Invalid(f"{where} names something without a size")
    return Blob(media_type, digest, size, _platform(entry.get("platform")))


def _platform(entry: Any) -> Platform | None:
    if not isinstance(entry, dict):
        return None
    system, architecture, variant = (entry.get(key, "") for key in ("os", "architecture", "variant"))
    if not isinstance(system, str) or not isinstance(architecture, str) or not isinstance(variant, str):
        return None
    return Platform(system, architecture, variant)
