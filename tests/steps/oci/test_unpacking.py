"""Layers are laid over each other as images say, and nothing of them gets out or has no end."""

import contextlib
import gzip
import os
import stat
import tarfile
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.errors import Invalid, PerdureError, TooLarge
from domain.steps.images import Compression
from steps.oci.unpacking import Unpacking
from tests.steps.oci.layers import archive, entry, folder, layer, link, second_name

Entry = tuple[tarfile.TarInfo, bytes]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/precious").write_text("kept")
    (tmp_path / "root").mkdir()
    return tmp_path / "root"


def unpacked(root: Path, *layers: bytes, kind: str = "", unpacking: Unpacking | None = None) -> dict[str, str]:
    """What is there when the layers have been unpacked: files with their content, links with where they lead."""
    unpacking = unpacking or Unpacking(root)
    for number, content in enumerate(layers):
        unpacking.unpack(layer(root.parent / f"layer{number}", content, kind), Compression(kind))
    return {
        str(path.relative_to(root)): f"-> {path.readlink()}" if path.is_symlink() else path.read_text()
        for path in sorted(root.rglob("*"))
        if path.is_symlink() or path.is_file()
    }


@pytest.mark.parametrize("kind", ["", "gzip", "zstd"])
def test_layers_lie_over_each_other(root: Path, kind: str) -> None:
    lower = archive(folder("a"), entry("a/x", "1"), entry("./a/y", "1"), entry("b/c/d", "1"), entry("gone", "1"))
    upper = archive(entry("a/x", "2"), entry(".wh.gone"), entry("b/.wh.c"), entry("new", "2", mode=0o4755))
    assert unpacked(root, lower, upper, kind=kind) == {"a/x": "2", "a/y": "1", "new": "2"}
    assert stat.S_IMODE((root / "new").stat().st_mode) == 0o755, "it does not run as somebody else"
    assert not list(root.parent.glob("*.tar"))


@pytest.mark.parametrize("is_first", [True, False])
def test_a_folder_is_emptied_of_what_is_below_alone(root: Path, is_first: bool) -> None:
    lower = archive(entry("a/old", "1"), entry("a/sub/old", "1"), entry("b", "1"))
    new, opaque = [entry("a/new", "2"), entry("a/sub/new", "2")], entry("a/.wh..wh..opq")
    upper = archive(*([opaque, *new] if is_first else [*new, opaque, opaque]))
    assert unpacked(root, lower, upper) == {"a/new": "2", "a/sub/new": "2", "b": "1"}


def test_what_a_layer_removes_and_adds_is_there(root: Path) -> None:
    lower = archive(entry("a/old", "1"), entry("b", "1"))
    upper = archive(entry("a/new", "2"), entry(".wh.a"), entry("b", "2"), entry(".wh.b"), entry(".wh..wh.plnk", "x"))
    assert unpacked(root, lower, upper) == {"a/new": "2", "b": "2"}


def test_kinds_replace_each_other(root: Path) -> None:
    lower = archive(entry("a/x", "1"), entry("b", "1"), link("c", "a"), folder("d"))
    upper = archive(entry("a", "2"), folder("b"), entry("b/x", "2"), folder("c"), entry("c/x", "2"), link("d", "b"))
    assert unpacked(root, lower, upper) == {"a": "2", "b/x": "2", "c/x": "2", "d": "-> b"}


@pytest.mark.parametrize(
    ("entries", "leads"),
    [
        ([folder("usr"), folder("usr/bin"), link("bin", "/usr/bin")], {"bin": "usr/bin"}),
        ([folder("a/b"), link("a/b/c", "/x/y")], {"a/b/c": "../../x/y"}),
        ([folder("a/b"), link("a/b/c", "..//./../x/")], {"a/b/c": "../../x"}),
        ([folder("a"), link("a/root", "/")], {"a/root": ".."}),
        ([folder("a/b/c"), link("l", "a/b/c"), link("l/m", "../../x")], {"a/b/c/m": "../../x"}),
        ([folder("a/b/c"), link("a/b/c/l", "../../.."), link("m", "a/b/c/l/..")], {"m": "a/b/c"}),
    ],
)
def test_links_stay_within(root: Path, entries: list[Entry], leads: dict[str, str]) -> None:
    found = unpacked(root, archive(*entries))
    assert {name: found[name].removeprefix("-> ") for name in leads} == leads
    for path in root.rglob("*"):
        assert path.resolve().is_relative_to(root)


def test_a_file_may_come_through_a_link_that_stays_within(root: Path) -> None:
    layers = archive(folder("usr/lib"), link("lib", "usr/lib")), archive(entry("lib/x", "1"), second_name("y", "lib/x"))
    assert unpacked(root, *layers) == {"lib": "-> usr/lib", "usr/lib/x": "1", "y": "1"}


@pytest.mark.parametrize(
    ("entries", "said"),
    [
        ([entry("../outside/precious", "x")], "an entry '../outside/precious', which leads out"),
        ([entry("a/../../outside/precious", "x")], "which leads out"),
        ([entry("/etc/passwd", "x")], "an entry '/etc/passwd', which leads out"),
        ([link("out", "../outside"), entry("out/precious", "x")], "a link out to ../outside, which leads out"),
        ([link("a/out", "../../outside")], "which leads out"),
        ([link("out", "/../outside")], "which leads out"),
        ([second_name("out", "../outside/precious")], "'../outside/precious', which leads out"),
        ([second_name("out", "/etc/passwd")], "which leads out"),
        ([second_name("out", "nowhere")], "which is no file of it"),
        ([entry("x", "1"), link("l", "x"), second_name("a/out", "l")], "which is no file of it"),
        ([entry("null", type=tarfile.CHRTYPE, devmajor=1, devminor=3)], "null, which is a device"),
        ([entry("disk", type=tarfile.BLKTYPE, devmajor=8)], "which is a device"),
        ([entry("pipe", type=tarfile.FIFOTYPE)], "pipe, which is a device, a pipe"),
        ([entry(".wh...")], "the image removes '..'"),
        ([entry("a/.wh..")], "the image removes '.'"),
        ([entry(".wh.")], "the image removes ''"),
        ([link("a", "b"), link("b", "a"), entry("a/x", "1")], "cannot be unpacked"),
        ([entry("f", "1"), entry("f/x", "1")], "cannot be unpacked"),
        ([entry("x" * 300, "1")], "cannot be unpacked: [Errno 36] File name too long"),
        ([entry("x", "1", pax_headers={"comment": "x" * 2_000_000})], "a header has 2,0"),
    ],
)
def test_nothing_hostile_gets_through(root: Path, entries: list[Entry], said: str) -> None:
    with pytest.raises(Invalid) as refused:
        unpacked(root, archive(*entries))
    assert said in str(refused.value)
    assert (root.parent / "outside/precious").read_text() == "kept"
    assert [path.name for path in (root.parent / "outside").iterdir()] == ["precious"]


def test_a_link_that_somebody_else_has_put_there_leads_nowhere(root: Path) -> None:
    (root / "out").symlink_to(root.parent / "outside")
    with pytest.raises(Invalid, match="through a link that leads out"):
        unpacked(root, archive(entry("out/precious", "x")))


def sparse() -> bytes:
    """A file with holes, which says that it has 64 MiB: so much is there for a moment where the limit is broken."""
    size = 2**26
    fields = {"major": "0", "minor": "1", "size": str(size), "map": f"{size},0", "name": "x"}
    return archive(entry("x", "", pax_headers={f"GNU.sparse.{name}": value for name, value in fields.items()}))


@pytest.mark.parametrize(
    ("content", "limits"),
    [
        (lambda: archive(entry("x", b"\0" * 200_000)), {"max_size": 100_000}),
        (lambda: archive(entry("x", b"\0" * 60_000)), {"max_size": 100_000}),  # twice
        (lambda: archive(*(entry(str(number)) for number in range(60))), {"max_entries": 100}),  # twice
        (sparse, {"max_size": 10_000_000}),
    ],
)
@pytest.mark.parametrize("kind", ["gzip", "zstd"])
def test_a_bomb_goes_out(root: Path, content: Callable[[], bytes], limits: dict[str, int], kind: str) -> None:
    with pytest.raises(TooLarge, match="the layers of the image have more than"):
        unpacked(root, content(), content(), kind=kind, unpacking=Unpacking(root, **limits))
    assert sum(path.stat().st_blocks * 512 for path in root.rglob("*")) < 20_000_000


@pytest.mark.parametrize(
    ("content", "kind"),
    [(b"no archive", ""), (b"x" * 4096, ""), (b"\x1f\x8b\x08\x00 broken", "gzip"), (b"broken", "zstd")],
)
def test_what_is_broken_says_so(root: Path, content: bytes, kind: str) -> None:
    file = root.parent / "layer"
    file.write_bytes(content)
    with pytest.raises(Invalid, match="a layer of the image cannot be unpacked"):
        Unpacking(root).unpack(file, Compression(kind))


def test_a_layer_that_breaks_off_says_so(root: Path) -> None:
    file = root.parent / "layer"
    file.write_bytes(gzip.compress(archive(entry("x", os.urandom(50_000))))[:20_000])
    with pytest.raises(Invalid, match="a layer of the image cannot be unpacked"):
        Unpacking(root).unpack(file, Compression.GZIP)


PATHS = st.lists(st.sampled_from(["a", "b", "c", "..", ".", ""]), min_size=1, max_size=5).map("/".join)
ENTRIES = st.one_of(
    st.builds(lambda name: entry(name, "x"), PATHS),
    st.builds(folder, PATHS),
    st.builds(link, PATHS, PATHS),
    st.builds(second_name, PATHS, PATHS),
    st.builds(lambda name: entry(f"{name}/.wh.a"), PATHS),
    st.builds(lambda name: entry(f"{name}/.wh..wh..opq"), PATHS),
)


@given(st.lists(st.lists(ENTRIES, max_size=8), max_size=3))
def test_whatever_the_layers_are_nothing_leads_out(layers: list[list[Entry]]) -> None:
    with tempfile.TemporaryDirectory() as name:
        top = Path(name).resolve()
        (root := top / "one/root").mkdir(parents=True)
        (top / "precious").write_text("kept")
        with contextlib.suppress(PerdureError):
            unpacked(root, *(archive(*entries) for entries in layers))
        assert {path.name for path in top.iterdir()} == {"one", "precious"}
        assert {path.name for path in (top / "one").iterdir()} <= {"root", "layer0", "layer1", "layer2"}
        assert (top / "precious").read_text() == "kept"
        for path in root.rglob("*"):
            if path.is_symlink():
                assert Path(os.path.realpath(path)).is_relative_to(root), (path, path.readlink())
