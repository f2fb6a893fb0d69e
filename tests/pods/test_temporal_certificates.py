"""The certificates of the container set's Temporal: made, kept, renewed, and made anew where they are damaged."""

import os
import shutil
import stat
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.x509 import verification
from cryptography.x509.oid import ExtendedKeyUsageOID

from domain.errors import Refused
from pods.temporal_certificates import main, provide

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
DAY = timedelta(days=1)


@dataclass(frozen=True)
class Folders:
    """Those of a set."""

    authority: Path
    server: Path
    client: Path

    @property
    def leaves(self) -> tuple[Path, Path]:
        """Those of who talks."""
        return self.server, self.client

    def provide(self, now: datetime = NOW) -> set[str]:
        """What was written, as `folder/file`."""
        written = provide(self.authority, self.server, self.client, now)
        return {f"{path.parent.name}/{path.name}" for path in written}

    def content(self) -> dict[str, bytes]:
        """Every file."""
        root = self.authority.parent
        return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


@pytest.fixture
def folders(tmp_path: Path) -> Folders:
    found = Folders(tmp_path / "authority", tmp_path / "server", tmp_path / "client")
    for folder in (found.authority, *found.leaves):
        folder.mkdir()
    return found


def certificate(path: Path) -> x509.Certificate:
    return x509.load_pem_x509_certificate(path.read_bytes())


def believed(folders: Folders, now: datetime) -> None:
    """Raise unless client and server believe each other."""
    store = verification.Store([certificate(folders.client / "ca.crt")])
    by_name = verification.PolicyBuilder().store(store).time(now).build_server_verifier(x509.DNSName("temporal"))
    by_name.verify(certificate(folders.server / "tls.crt"), [])
    store = verification.Store([certificate(folders.server / "ca.crt")])
    callers = verification.PolicyBuilder().store(store).time(now).build_client_verifier()
    # Temporal's own processes show that of the server to each other.
    for folder in (folders.client, folders.server):
        callers.verify(certificate(folder / "tls.crt"), [])


def test_made_at_the_first_start(folders: Folders) -> None:
    written = folders.provide()
    assert written == set(folders.content())
    leaves = {f"{folder}/{name}" for folder in ("server", "client") for name in ("ca.crt", "tls.crt", "tls.key")}
    assert written == {"authority/ca.key", "authority/ca.crt", *leaves}
    believed(folders, NOW)


def test_only_the_authority_s_key_is_closed_to_all_others(folders: Folders) -> None:
    """Each image runs under a user of its own, who must read the rest."""
    folders.provide()
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in folders.authority.parent.rglob("*.*")}
    assert modes == {"ca.key": 0o600, "ca.crt": 0o644, "tls.crt": 0o644, "tls.key": 0o644}


def test_a_client_is_no_server(folders: Folders) -> None:
    folders.provide()
    uses = certificate(folders.client / "tls.crt").extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    assert list(uses) == [ExtendedKeyUsageOID.CLIENT_AUTH]


def test_what_is_good_stays_byte_for_byte(folders: Folders) -> None:
    folders.provide()
    before = folders.content()
    assert folders.provide(NOW + 480 * DAY) == set()
    assert folders.content() == before


def test_less_than_a_third_left_is_renewed_with_its_key(folders: Folders) -> None:
    """So one file changes, and nobody reads two that do not belong together."""
    folders.provide()
    before, later = folders.content(), NOW + 490 * DAY
    assert folders.provide(later) == {"server/tls.crt", "client/tls.crt"}
    believed(folders, later + 720 * DAY)
    assert folders.content()["server/tls.key"] == before["server/tls.key"]
    assert folders.provide(later) == set()


def test_a_renewed_authority_believes_what_the_one_before_signed(folders: Folders, tmp_path: Path) -> None:
    """Processes that were not restarted still hold the old files."""
    later = NOW + 2440 * DAY
    folders.provide()
    folders.provide(later - 40 * DAY)
    old_server, old_client = (shutil.copytree(folder, tmp_path / f"old-{folder.name}") for folder in folders.leaves)
    for folder in folders.leaves:
        (folder / "tls.crt").unlink()
    assert {"authority/ca.crt", "server/tls.crt", "client/tls.crt"} < folders.provide(later)
    believed(Folders(folders.authority, old_server, folders.client), later)
    believed(Folders(folders.authority, folders.server, old_client), later)


def test_a_certificate_that_is_not_good_yet_is_made_anew(folders: Folders) -> None:
    """As after a start with a clock that was years ahead."""
    folders.provide(NOW + 4000 * DAY)
    assert folders.provide() == {
        "authority/ca.crt",
        *(f"{folder}/{name}" for folder in ("server", "client") for name in ("ca.crt", "tls.crt")),
    }
    believed(folders, NOW)


@pytest.mark.parametrize("content", [None, b"", b"-----BEGIN CERTIFICATE-----\nMIIB"], ids=["gone", "empty", "cut"])
@pytest.mark.parametrize(
    ("damaged", "mended"),
    [
        ("authority/ca.crt", {"authority/ca.crt", "server/ca.crt", "client/ca.crt"}),
        ("server/ca.crt", {"server/ca.crt"}),
        ("server/tls.crt", {"server/tls.crt"}),
        ("client/tls.key", {"client/tls.key", "client/tls.crt"}),
    ],
)
def test_damaged_files_are_made_anew(folders: Folders, damaged: str, mended: set[str], content: bytes | None) -> None:
    folders.provide()
    spoil(folders.authority.parent / damaged, content)
    assert folders.provide() == mended
    believed(folders, NOW)
    assert folders.provide() == set()


@pytest.mark.parametrize("content", [None, b"", b"no key"], ids=["gone", "empty", "other"])
def test_without_the_authority_s_key_nothing_is_changed(folders: Folders, content: bytes | None) -> None:
    """A new authority would cut off everything that runs: somebody must decide that."""
    folders.provide()
    spoil(folders.authority / "ca.key", content)
    before = folders.content()
    with pytest.raises(Refused, match=r"authority/ca\.key is missing or damaged\. Put it back; or remove"):
        folders.provide(NOW + 700 * DAY)
    assert folders.content() == before


def spoil(path: Path, content: bytes | None) -> None:
    if content is None:
        path.unlink()
    else:
        path.write_bytes(content)


def test_certificates_of_another_authority_are_replaced(folders: Folders) -> None:
    """As after its folder was emptied."""
    folders.provide()
    for path in folders.authority.iterdir():
        path.unlink()
    folders.provide()
    believed(folders, NOW)


def test_every_file_and_its_name_are_on_disk(folders: Folders, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[str] = []

    def watched(descriptor: int) -> None:
        synced.append(os.path.realpath(f"/proc/self/fd/{descriptor}"))

    monkeypatch.setattr(os, "fsync", watched)
    written = folders.provide()
    places = [path for path in synced if Path(path).is_dir()]
    assert len(places) == len(written)
    assert set(places) == {str(folder) for folder in (folders.authority, folders.server, folders.client)}
    assert len(synced) == 2 * len(written)


def test_the_command(folders: Folders, capsys: pytest.CaptureFixture[str]) -> None:
    words = [str(folder) for folder in (folders.authority, folders.server, folders.client)]
    assert main(words, NOW) == 0
    assert f"wrote {folders.server / 'tls.crt'}\n" in capsys.readouterr().out
    assert main(words, NOW) == 0
    assert capsys.readouterr().out == "all certificates are good\n"
    (folders.authority / "ca.key").unlink()
    assert main(words, NOW) == 1
    assert capsys.readouterr().err.startswith("temporal_certificates: ")
    assert main([*words[:2], str(folders.client / "none")], NOW) == 1
    assert main(words[:2], NOW) == 2
