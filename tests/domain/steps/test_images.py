"""What a registry says of images, read: platforms, layers, and everything that is no such thing."""

import json
from typing import Any

import pytest

from domain.errors import Invalid
from domain.steps.images import (
    INDEX_TYPES,
    LAYER_TYPE,
    MANIFEST_TYPES,
    MAX_LAYERS,
    Blob,
    Compression,
    Platform,
    chosen,
    platform_of,
    read_index,
    read_layers,
)

DIGEST = "sha256:" + "0" * 64
LAYER = {"mediaType": LAYER_TYPE, "digest": DIGEST, "size": 3}


def image(system: str, architecture: str, variant: str = "") -> Blob:
    """An image of an index."""
    return Blob(MANIFEST_TYPES[0], DIGEST, 3, Platform(system, architecture, variant))


@pytest.mark.parametrize("media_type", [None, *MANIFEST_TYPES])
def test_layers_are_read(media_type: str | None) -> None:
    manifest = {"layers": [LAYER, {**LAYER, "size": 4}], **({"mediaType": media_type} if media_type else {})}
    assert read_layers(json.dumps(manifest).encode()) == [Blob(LAYER_TYPE, DIGEST, 3), Blob(LAYER_TYPE, DIGEST, 4)]


@pytest.mark.parametrize("media_type", [None, *INDEX_TYPES])
def test_an_index_is_read(media_type: str | None) -> None:
    entry = {**LAYER, "platform": {"os": "linux", "architecture": "arm", "variant": "v7", "os.version": "x"}}
    index = {"manifests": [entry, LAYER], **({"mediaType": media_type} if media_type else {})}
    assert read_index(json.dumps(index).encode()) == [
        Blob(LAYER_TYPE, DIGEST, 3, Platform("linux", "arm", "v7")),
        Blob(LAYER_TYPE, DIGEST, 3),
    ]


def test_an_image_is_no_index() -> None:
    assert read_index(json.dumps({"mediaType": MANIFEST_TYPES[0], "layers": [LAYER], "manifests": []}).encode()) is None
    assert read_index(json.dumps({"layers": [LAYER]}).encode()) is None


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ("{", "is no JSON"),
        ("[" * 100_000, "is no JSON"),
        ([], "is no object"),
        ({}, "it has no layers"),
        ({"layers": []}, "it has no layers"),
        ({"layers": {}}, "it has no layers"),
        ({"layers": [LAYER], "mediaType": "text/html"}, "it has no layers"),
        ({"layers": [LAYER] * (MAX_LAYERS + 1)}, "at most 127 layers; this one has 128"),
        ({"layers": [7]}, "no object"),
        ({"layers": [{**LAYER, "digest": "sha256:../../x"}]}, "without a digest by SHA-256"),
        ({"layers": [{**LAYER, "digest": "sha512:" + "0" * 128}]}, "without a digest by SHA-256"),
        ({"layers": [{**LAYER, "mediaType": None}]}, "without a kind"),
        ({"layers": [{**LAYER, "size": -1}]}, "without a size"),
        ({"layers": [{**LAYER, "size": True}]}, "without a size"),
        ({"layers": [{**LAYER, "size": "3"}]}, "without a size"),
    ],
)
def test_what_is_no_image_says_why(document: Any, said: str) -> None:
    with pytest.raises(Invalid) as refused:
        read_layers((document if isinstance(document, str) else json.dumps(document)).encode())
    assert said in str(refused.value)


@pytest.mark.parametrize("platform", [None, 7, {"os": 7}, {"architecture": []}])
def test_a_platform_that_is_none_fits_nobody(platform: Any) -> None:
    images = read_index(json.dumps({"manifests": [{**LAYER, "platform": platform}]}).encode())
    assert images is not None
    (found,) = images
    assert found.platform is None
    with pytest.raises(Invalid, match="there is no image for linux/amd64, only for no machine at all"):
        chosen([found], Platform("linux", "amd64"))


@pytest.mark.parametrize(
    ("machine", "name", "fits"),
    [
        ("x86_64", "linux/amd64", ["linux/amd64"]),
        ("aarch64", "linux/arm64/v8", ["linux/arm64/v8", "linux/arm64"]),
        ("armv7l", "linux/arm/v7", ["linux/arm/v7", "linux/arm/v6", "linux/arm"]),
        ("armv6l", "linux/arm/v6", ["linux/arm/v6", "linux/arm"]),
        ("i686", "linux/386", ["linux/386"]),
        ("riscv64", "linux/riscv64", ["linux/riscv64"]),
        ("loongarch64", "linux/loongarch64", ["linux/loongarch64"]),
    ],
)
def test_a_machine_gets_the_best_that_it_can_run(machine: str, name: str, fits: list[str]) -> None:
    others = ["linux/amd64/v3", "windows/amd64", "linux/386", "linux/riscv64", "linux/loongarch64", "linux/amd64"]
    every = [*others, "linux/arm", "linux/arm/v6", "linux/arm/v7", "linux/arm/v9", "linux/arm64", "linux/arm64/v8"]
    found = platform_of("Linux", machine)
    assert str(found) == name
    offered = [image(*text.split("/")) for text in every]
    for expected in fits:
        best = chosen(offered, found)
        assert str(best.platform) == expected
        offered.remove(best)
    with pytest.raises(Invalid, match="there is no image for"):
        chosen(offered, found)


@pytest.mark.parametrize(
    ("media_type", "compression"),
    [
        ("application/vnd.oci.image.layer.v1.tar", Compression.NONE),
        ("application/vnd.oci.image.layer.v1.tar+gzip", Compression.GZIP),
        ("application/vnd.oci.image.layer.v1.tar+zstd", Compression.ZSTD),
        ("application/vnd.docker.image.rootfs.diff.tar.gzip", Compression.GZIP),
        ("application/vnd.docker.image.rootfs.diff.tar", Compression.NONE),
    ],
)
def test_layers_are_unpacked_by_their_kind(media_type: str, compression: Compression) -> None:
    assert Blob(media_type, DIGEST, 3).compression is compression


@pytest.mark.parametrize(
    "media_type",
    [
        "application/vnd.docker.image.rootfs.foreign.diff.tar.gzip",
        "application/vnd.oci.image.layer.v1.tar+xz",
        "application/vnd.oci.image.layer.v1.tar+gzip+encrypted",
        "text/plain",
    ],
)
def test_other_layers_are_refused(media_type: str) -> None:
    with pytest.raises(Invalid, match="cannot be unpacked; tar, gzip and zstd can"):
        _ = Blob(media_type, DIGEST, 3).compression
