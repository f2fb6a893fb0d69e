"""Steps in images of a real registry: published, found, the right one for this machine, and fetched once."""

import asyncio
import base64
import hashlib
import json
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from domain.errors import Invalid
from domain.steps.definition import Exec
from domain.steps.images import INDEX_TYPES, LAYER_TYPE, MANIFEST_TYPES, Blob
from domain.steps.references import OciReference, read_reference
from domain.steps.rendering import Known
from domain.steps.results import StepResult, StepStatus, document_of
from steps.engine.ending import Ended, Ending, Reason
from steps.engine.image_steps import ImageFinder
from steps.oci.kept_images import THIS_MACHINE, place_of
from tests.e2e.images import Skopeo
from tests.steps.engine.conftest import Rig
from tests.steps.oci.layers import archive, entry, link
from tests.steps.oci.registries import PASSWORD, USER, RunningRegistry, running_registry

LOGIN = (USER, PASSWORD)
AUTH = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningRegistry]:
    with running_registry(tmp_path_factory.mktemp("registry") / "r") as found:
        yield found


@pytest.fixture
def finder(tmp_path: Path) -> ImageFinder:
    return ImageFinder(tmp_path / "cache", Ending())


def step(version: str) -> str:
    """A step that says which version it is."""
    return f"{{}}\n---\nexec: {{command: [echo, '{version}']}}\n"


def version(finder: ImageFinder, reference: Any) -> str:
    """What a step in an image says."""
    found = finder.find(read_reference(reference), Path("/"))
    assert isinstance(found.definition.work, Exec)
    return found.definition.work.command[1]


def publish(rig: Rig, address: str, repository: str, tag: str, folder: str, **more: Any) -> StepResult:
    """Publish a folder of the job as a job does, by the built-in step."""
    inputs = {"registry": address, "repository": repository, "tag": tag, "folder": folder}
    call = {"name": "publish", "step": "builtin://oci/publish", "inputs": inputs}
    return rig.run(f"{{}}\n---\n{json.dumps({'run': [call]})}", **more)


def pushed(registry: RunningRegistry, repository: str, tag: str, *layers: bytes, folder: Path, **more: str) -> Blob:
    """An image of layers that no tool would make."""
    images, blobs = registry.images(repository), []
    for content in layers:
        (folder / "blob").write_bytes(content)
        digest = f"sha256:{hashlib.sha256(content).hexdigest()}"
        blobs.append(Blob(more.get("kind", LAYER_TYPE.removesuffix("+gzip")), digest, len(content)))
        images.push(blobs[-1], folder / "blob")
    entries = [{"mediaType": one.media_type, "digest": one.digest, "size": one.size} for one in blobs]
    manifest = {"schemaVersion": 2, "mediaType": MANIFEST_TYPES[0], "config": entries[0], "layers": entries}
    content = json.dumps(manifest).encode()
    return Blob(MANIFEST_TYPES[0], images.tag(tag, content), len(content))


def test_what_is_published_is_run(rig: Rig, registry: RunningRegistry) -> None:
    script = 'echo "published $(cat ${0%/*}/../text)"'
    rig.write("say", "{}\n---\nexec: {command: ['${{ step_dir }}/bin/say']}\n", ("text", "words"))
    (rig.folder / "build/say/bin").mkdir()
    (rig.folder / "build/say/bin/say").write_text(f"#!/bin/sh\n{script}\n")
    (rig.folder / "build/say/bin/say").chmod(0o755)
    (rig.folder / "build/say/again").symlink_to("bin/say")
    published = publish(rig, registry.address, "steps/say", "1", "say")
    assert published.status is StepStatus.SUCCESS, document_of(published)
    digest = published.steps[0].outputs["digest"].value
    again = publish(rig, registry.address, "steps/say", "2", "say")
    assert again.steps[0].outputs["digest"].value == digest, "the same files are the same image"
    places = [f"{registry.address}/steps/say:1", {"oci": {"registry": registry.address, "repository": "steps/say",
        "tag": digest, "file": "step.yml"}}]  # fmt: skip
    calls = [{"name": f"call{number}", "step": place} for number, place in enumerate(places)]
    result = rig.run(f"{{}}\n---\n{json.dumps({'run': calls})}")
    assert result.status is StepStatus.SUCCESS, document_of(result)
    assert rig.output() == f"{digest}\n{digest}\n" + "published words\n" * 2


def test_an_image_is_fetched_as_a_folder(rig: Rig, registry: RunningRegistry) -> None:
    rig.write("data", "{}\n---\nexec: {command: ['true']}\n", ("text", "words"))
    digest = publish(rig, registry.address, "data", "1", "data").steps[0].outputs["digest"].value
    inputs = {"registry": registry.address, "repository": "data", "tag": "1"}
    calls = [
        {"name": "fetch", "step": "builtin://oci/fetch", "inputs": inputs},
        {"name": "read", "script": "cat ${{ steps.fetch.outputs.folder }}/text"},
    ]
    result = rig.run(f"{{}}\n---\n{json.dumps({'run': calls})}")
    assert result.status is StepStatus.SUCCESS, document_of(result)
    assert result.steps[0].outputs["digest"].value == digest
    assert rig.output().endswith("words")


@pytest.mark.parametrize(
    ("path", "said"),
    [("nowhere", "there is no folder nowhere"), ("odd", ".wh.x: in a layer this name removes a file"),
     ("pipe", "fifo is no file, folder or link")],
)  # fmt: skip
def test_what_cannot_be_published_says_so(rig: Rig, registry: RunningRegistry, path: str, said: str) -> None:
    rig.write("odd", step("1"), (".wh.x", ""))
    rig.write("pipe", step("1"))
    os.mkfifo(rig.folder / "build/pipe/fifo")
    assert publish(rig, registry.address, "odd", "1", path).status is StepStatus.FAILURE
    assert said in rig.output("stderr")


@pytest.mark.parametrize("kind", ["password", "token"])
def test_a_login_is_the_jobs_and_is_shown_nowhere(rig: Rig, tmp_path: Path, kind: str) -> None:
    with running_registry(tmp_path / "private", kind) as private:
        rig.write("say", step("private"))
        login = json.dumps({"auths": {private.address: {"auth": AUTH}}})
        variables = {"DOCKER_AUTH_CONFIG": Known(login)}
        published = publish(rig, private.address, "a/say", "1", "say", variables=variables)
        assert published.status is StepStatus.SUCCESS, document_of(published)
        assert published.steps[0].env["DOCKER_AUTH_CONFIG"].is_sensitive
        call = f"{{}}\n---\nrun: [{{name: a, step: '{private.address}/a/say:1'}}]"
        refused = rig.run(call)
        assert "lets nobody in without a login" in refused.steps[0].failure
        assert rig.run(call, variables=variables).status is StepStatus.SUCCESS
        told = json.dumps([document_of(result) for _, result in rig.told])
        kept = "\n".join(str(path) for path in rig.folder.rglob("*"))
        for secret in (PASSWORD, AUTH):
            assert secret not in told + kept + rig.output() + rig.output("stderr") + private.log.read_text()
        for path in (rig.folder / "cache").rglob("*"):
            assert not path.is_file() or PASSWORD.encode() not in path.read_bytes()


def test_twenty_at_once_get_the_right_image_by_one_fetch_a_tag(
    rig: Rig, registry: RunningRegistry, tmp_path: Path
) -> None:
    for tag in ("1", "2"):
        rig.write("many", step(tag))
        publish(rig, registry.address, "many", tag, "many")
    begin, found = len(registry.requests("GET", "/v2/many/")), list[tuple[int, str]]()

    def find(number: int) -> None:
        tag = number % 2 + 1
        found.append((tag, version(ImageFinder(tmp_path / "cache", Ending()), f"{registry.address}/many:{tag}")))

    threads = [threading.Thread(target=find, args=(number,)) for number in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == [(1, "1")] * 10 + [(2, "2")] * 10
    asked = registry.requests("GET", "/v2/many/")[begin:]
    assert sorted(path.rpartition("/many/")[2].partition(":")[0] for path in asked) == [
        "blobs/sha256",
        "blobs/sha256",
        "manifests/1",
        "manifests/2",
    ]


def test_a_tag_moves_after_a_while_and_a_digest_never(rig: Rig, finder: ImageFinder, registry: RunningRegistry) -> None:
    rig.write("moved", step("1"))
    first = publish(rig, registry.address, "moved", "latest", "moved").steps[0].outputs["digest"].value
    by_tag, by_digest = f"{registry.address}/moved:latest", {"registry": registry.address, "repository": "moved"}
    assert version(finder, by_tag) == "1"
    rig.write("moved", step("2"))
    publish(rig, registry.address, "moved", "latest", "moved")
    assert version(finder, by_tag) == "1"
    assert version(finder, {"oci": {**by_digest, "tag": first}}) == "1"
    place = place_of(finder.cache, OciReference(registry.address, "moved", "latest"))
    long_ago = time.time() - 301
    for note in (place.folder / "revisions").iterdir():
        os.utime(note, (long_ago, long_ago))
    begin = len(registry.requests("GET", "/v2/moved/"))
    assert version(finder, by_tag) == "2"
    asked = len(registry.requests("GET", "/v2/moved/"))
    assert asked == begin + 2
    assert version(finder, {"oci": {**by_digest, "tag": first}}) == "1"
    assert len(registry.requests("GET", "/v2/moved/")) == asked, "a digest is not looked up again"


def test_an_index_gives_what_fits_this_machine(finder: ImageFinder, registry: RunningRegistry, tmp_path: Path) -> None:
    ours, others = {"os": "linux", "architecture": THIS_MACHINE.architecture}, {"os": "plan9", "architecture": "mips"}
    entries = []
    for name, platform in (("ours", ours), ("others", others), ("notes", {"os": "unknown", "architecture": "unknown"})):
        made = pushed(registry, "several", name, archive(entry("step.yml", step(name))), folder=tmp_path)
        entries.append({"mediaType": made.media_type, "digest": made.digest, "size": made.size, "platform": platform})
    for tag, some in (("all", entries), ("foreign", entries[1:])):
        index = json.dumps({"schemaVersion": 2, "mediaType": INDEX_TYPES[0], "manifests": some}).encode()
        images = registry.images("several")
        images._asked("PUT", f"manifests/{tag}", headers={"Content-Type": INDEX_TYPES[0]}, data=index).close()
    assert version(finder, f"{registry.address}/several:all") == "ours"
    with pytest.raises(Invalid, match=rf"there is no image for {THIS_MACHINE}, only for plan9/mips$"):
        version(finder, f"{registry.address}/several:foreign")


async def test_an_image_of_another_tool_is_run(finder: ImageFinder, registry: RunningRegistry, tmp_path: Path) -> None:
    """Pushed by skopeo, from a layout with two layers, also as Docker writes images."""
    blobs = tmp_path / "layout/blobs/sha256"
    blobs.mkdir(parents=True)

    def blob(content: bytes, kind: str) -> dict[str, Any]:
        digest = hashlib.sha256(content).hexdigest()
        (blobs / digest).write_bytes(content)
        return {"mediaType": f"application/vnd.oci.image.{kind}", "digest": f"sha256:{digest}", "size": len(content)}

    layers = [
        archive(entry("a/step.yml", step("1")), entry("a/gone", "")),
        archive(entry("a/.wh.gone"), link("b", "/a"), entry("a/step.yml", step("2"))),
    ]
    roots = {"type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(one).hexdigest()}" for one in layers]}
    settings = {"architecture": THIS_MACHINE.architecture, "os": "linux", "config": {}, "rootfs": roots}
    config = blob(json.dumps(settings).encode(), "config.v1+json")
    manifest = {"schemaVersion": 2, "config": config, "layers": [blob(one, "layer.v1.tar") for one in layers]}
    named = blob(json.dumps(manifest).encode(), "manifest.v1+json")
    named["annotations"] = {"org.opencontainers.image.ref.name": "latest"}
    (tmp_path / "layout/index.json").write_text(json.dumps({"schemaVersion": 2, "manifests": [named]}))
    (tmp_path / "layout/oci-layout").write_text('{"imageLayoutVersion": "1.0.0"}')
    (tmp_path / "skopeo").mkdir()
    source = f"oci:{tmp_path / 'layout'}:latest"
    for tag, form in (("oci", "oci"), ("docker", "v2s2")):
        target = f"docker://{registry.address}/tool:{tag}"
        code, said = await Skopeo(tmp_path / "skopeo").copy(source, target, form=form)
        assert code == 0, said
        for path in ("a", "b/step.yml"):
            found = await asyncio.to_thread(version, finder, f"{registry.address}/tool:{tag} {path}")
            assert found == "2"
        place = place_of(finder.cache, OciReference(registry.address, "tool", tag))
    assert not list(place.folder.glob("trees/*/a/gone"))


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("1 nowhere", "there is no folder"),
        ("1 link", "is a link that leads out of where the step is"),
        ("2", "has no 2"),
        ("broken", "which leads out of it"),
        ("unknown", "a layer of the kind 'text/html' cannot be unpacked"),
    ],
)
def test_what_is_not_there_says_so(
    finder: ImageFinder, registry: RunningRegistry, tmp_path: Path, path: str, said: str
) -> None:
    pushed(registry, "faulty", "1", archive(entry("a", "x")), folder=tmp_path)
    pushed(registry, "faulty", "broken", archive(link("out", "../../../etc")), folder=tmp_path)
    pushed(registry, "faulty", "unknown", b"<html>", folder=tmp_path, kind="text/html")
    reference = f"{registry.address}/faulty:{path}"
    if path == "1 link":
        with pytest.raises(Invalid):
            version(finder, f"{registry.address}/faulty:1")
        (tree,) = finder.cache.glob("images/*/trees/*")
        (tree / "link").symlink_to("/etc")
    with pytest.raises(Invalid) as refused:
        version(finder, reference)
    assert said in str(refused.value)
    assert {part.name for part in finder.cache.glob("images/*/*")} <= {"lock", "revisions", "trees"}
    assert not list(finder.cache.glob("images/*/trees/.*")), "nothing half done is left"


def test_a_run_that_has_to_end_waits_for_no_fetch(tmp_path: Path, registry: RunningRegistry) -> None:
    """Somebody else fetches from the same repository."""
    finder = ImageFinder(tmp_path / "cache", Ending(time.monotonic() + 0.5))
    place = place_of(finder.cache, OciReference(registry.address, "a", "1"))
    with place.locked(lambda: None), pytest.raises(Ended) as ended:
        version(finder, f"{registry.address}/a:1")
    assert ended.value.reason is Reason.TIMED_OUT
