"""The client of registries: logins as they are asked for, digests that are checked, and no secret in what it says."""

import base64
import hashlib
import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from domain.errors import Invalid, TooLarge
from domain.steps.images import LAYER_TYPE, MANIFEST_TYPES, MAX_MANIFEST, Blob
from domain.steps.references import checked_oci
from rigs.ports import LOCAL, free_port
from steps.oci import registry as registry_module
from steps.oci.logins import login_for
from steps.oci.registry import Images, address_of
from tests.steps.oci.registries import PASSWORD, USER, RunningRegistry, running_registry

LOGIN = (USER, PASSWORD)


def blob(content: bytes) -> Blob:
    """What stands for these bytes."""
    return Blob(LAYER_TYPE, f"sha256:{hashlib.sha256(content).hexdigest()}", len(content))


def push(images: Images, folder: Path, content: bytes, tag: str = "1") -> bytes:
    """Push an image whose layer are these bytes; its manifest."""
    (folder / "blob").write_bytes(content)
    made = blob(content)
    images.push(made, folder / "blob")
    entry = {"mediaType": made.media_type, "digest": made.digest, "size": made.size}
    manifest = json.dumps(
        {"schemaVersion": 2, "mediaType": MANIFEST_TYPES[0], "config": entry, "layers": [entry]}
    ).encode()
    assert images.tag(tag, manifest) == blob(manifest).digest
    return manifest


@pytest.fixture(scope="module", params=["open", "password", "token"])
def registry(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningRegistry]:
    with running_registry(tmp_path_factory.mktemp("registry") / "r", request.param) as found:
        yield found


def kind(registry: RunningRegistry) -> str:
    """How it lets people in."""
    text = (registry.log.parent / "registry.yml").read_text()
    return next((one for one in ("token", "htpasswd") if one in text), "open")


def test_what_is_pushed_is_fetched(registry: RunningRegistry, tmp_path: Path) -> None:
    images = registry.images("a/b", LOGIN)
    manifest = push(images, tmp_path, b"layer")
    other = registry.images("a/b", LOGIN)
    assert other.manifest("1") == (manifest, blob(manifest).digest)
    assert other.manifest(blob(manifest).digest) == (manifest, blob(manifest).digest)
    other.fetch(blob(b"layer"), tmp_path / "fetched")
    assert (tmp_path / "fetched").read_bytes() == b"layer"


def test_what_is_not_there_says_so(registry: RunningRegistry, tmp_path: Path) -> None:
    push(registry.images("a/b", LOGIN), tmp_path, b"layer")
    with pytest.raises(Invalid, match="/a/b has no nothing"):
        registry.images("a/b", LOGIN).manifest("nothing")
    with pytest.raises(Invalid, match="/a/b has no sha256:"):
        registry.images("a/b", LOGIN).fetch(blob(b"other"), tmp_path / "fetched")


@pytest.mark.parametrize("login", [None, (USER, "wr0ng")])
def test_whoever_has_no_right_login_is_told(
    registry: RunningRegistry, login: tuple[str, str] | None, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    if kind(registry) == "open":
        push(registry.images("public", login), tmp_path, b"layer")
        return
    push(registry.images("public", LOGIN), tmp_path, b"layer")
    with pytest.raises(Invalid) as refused:
        registry.images("a/b", login).manifest("1")
    assert "lets nobody in without a login that may do this; DOCKER_AUTH_CONFIG may hold one" in str(refused.value)
    assert "wr0ng" not in str(refused.value)
    if kind(registry) == "token" and login is None:
        assert registry.images("public", None).manifest("1")
        with pytest.raises(Invalid, match="lets nobody in"):
            push(registry.images("public", None), tmp_path, b"other")
    assert capfd.readouterr() == ("", "")


def test_nobody_listens(capfd: pytest.CaptureFixture[str]) -> None:
    address, begin = f"{LOCAL}:{free_port()}", time.monotonic()
    with pytest.raises(Invalid) as refused:
        Images(checked_oci(address, "a", "1"), LOGIN).manifest("1")
    assert time.monotonic() - begin < 20, "the library alone would try for two minutes"
    assert str(refused.value) == f"{address} cannot be asked for a 1: Connection refused"
    assert capfd.readouterr() == ("", "")


class Liar:
    """A registry that answers what a test wants, and notes what it was sent."""

    def __init__(self) -> None:
        self.body, self.headers, self.seen = b"", dict[str, str](), list[str | None]()
        self.code = 200
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer.seen.append(self.headers.get("Authorization"))
                self.send_response(outer.code)
                for name, value in outer.headers.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(outer.body)

            def log_message(self, *arguments: object) -> None:
                pass

        self.server = ThreadingHTTPServer((LOCAL, 0), Handler)
        self.images = Images(checked_oci(f"{LOCAL}:{self.server.server_port}", "a", "1"), LOGIN)


@pytest.fixture
def liar() -> Iterator[Liar]:
    found = Liar()
    with found.server as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield found
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("given", [b"laye", b"Layer", b"layers" * 99_999])
def test_other_bytes_than_the_digest_says_are_refused(liar: Liar, given: bytes, tmp_path: Path) -> None:
    liar.body = given
    with pytest.raises(Invalid, match="gave other bytes than those of sha256:"):
        liar.images.fetch(blob(b"layer"), tmp_path / "fetched")
    assert (tmp_path / "fetched").stat().st_size <= len(b"layer")
    with pytest.raises(Invalid, match="gave a manifest with the digest sha256:"):
        liar.images.manifest(blob(b"layer").digest)


def test_what_has_no_end_is_refused(liar: Liar, tmp_path: Path) -> None:
    liar.body = b"x" * (MAX_MANIFEST + 1)
    with pytest.raises(TooLarge, match="the manifest of an image has at most"):
        liar.images.manifest("1")
    with pytest.raises(TooLarge, match="a layer of an image has at most"):
        liar.images.fetch(Blob(LAYER_TYPE, "sha256:" + "0" * 64, 2**31), tmp_path / "fetched")


@pytest.mark.parametrize(
    ("challenge", "said"),
    [
        ('Bearer realm="http://example.org/token",service="x"', "sends whoever logs in to example.org"),
        ("Digest x", "lets nobody in"),
        ("", "lets nobody in"),
    ],
)
def test_a_password_goes_nowhere_in_plain_text(liar: Liar, challenge: str, said: str) -> None:
    liar.code, liar.headers = 401, {"Www-Authenticate": challenge} if challenge else {}
    with pytest.raises(Invalid, match=said):
        liar.images.manifest("1")
    assert set(liar.seen) == {None}


def test_a_registry_elsewhere_gets_no_password_without_tls(liar: Liar, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is asked for without TLS; here it is this machine by a name that does not say so."""
    monkeypatch.setattr(registry_module, "is_loopback", lambda host: False)
    liar.code, liar.headers = 401, {"Www-Authenticate": "Basic realm=x"}
    images = Images(checked_oci(f"http://{LOCAL}:{liar.server.server_port}", "a", "1"), LOGIN)
    with pytest.raises(Invalid, match="lets nobody in"):
        images.manifest("1")
    assert set(liar.seen) == {None}


@pytest.mark.parametrize(
    ("registry", "host", "is_plain"),
    [
        ("reg.io", "reg.io", False),
        ("http://reg.io:5000", "reg.io:5000", True),
        ("https://127.0.0.1:5000", "127.0.0.1:5000", False),
        ("127.0.0.1:5000", "127.0.0.1:5000", True),
        ("localhost", "localhost", True),
        ("[::1]:5000", "[::1]:5000", True),
        ("127.0.0.1.reg.io", "127.0.0.1.reg.io", False),
        ("docker.io", "registry-1.docker.io", False),
    ],
)
def test_tls_is_left_out_on_this_machine_or_where_it_is_asked_for(registry: str, host: str, is_plain: bool) -> None:
    assert address_of(registry) == (host, is_plain)


def config(**entries: str) -> str:
    """A document with logins, by host."""
    auths = {host: {"auth": base64.b64encode(login.encode()).decode()} for host, login in entries.items()}
    return json.dumps({"auths": auths})


def test_the_variable_comes_before_the_file_and_that_before_its_program(tmp_path: Path) -> None:
    helper = tmp_path / "bin/docker-credential-tests"
    helper.parent.mkdir()
    helper.write_text('#!/bin/sh\necho "{\\"Username\\": \\"by\\", \\"Secret\\": \\"$(cat)\\"}"\n')
    helper.chmod(0o755)
    text = json.loads(config(both="file:2", file="file:3"))
    (tmp_path / "config.json").write_text(json.dumps({**text, "credHelpers": {"helped": "tests"}}))
    environment = {"DOCKER_AUTH_CONFIG": config(both="variable:1"), "DOCKER_CONFIG": str(tmp_path)}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", f"{helper.parent}:/usr/bin:/bin")
        found = {host: login_for(host, environment) for host in ("both", "file", "helped", "other")}
    assert found == {"both": ("variable", "1"), "file": ("file", "3"), "helped": ("by", "helped"), "other": None}


def test_a_broken_file_is_named_and_not_shown(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"auths": {"r": {"auth": "s3cret"}}')
    with pytest.raises(Invalid, match=r"config\.json is no JSON"):
        login_for("r", {"DOCKER_CONFIG": str(tmp_path)})
    with pytest.raises(Invalid, match=r"DOCKER_AUTH_CONFIG: `auth` of r is no `user:password` in Base64$"):
        login_for("r", {"DOCKER_AUTH_CONFIG": '{"auths": {"r": {"auth": "s3cret"}}}', "DOCKER_CONFIG": str(tmp_path)})
