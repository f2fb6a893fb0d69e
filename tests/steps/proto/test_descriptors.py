"""Our messages against the document's, and the Python files against their sources."""

from collections.abc import Iterator, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.descriptor_pb2 import DescriptorProto, EnumDescriptorProto, FileDescriptorProto, FileDescriptorSet
from grpc_tools import protoc

from steps.proto.__main__ import ROOT, make

HERE = Path(__file__).parent
OWN = 16
"""From this number on a field of a message of the document is ours."""
ADDED = {"Step", "StepResult"}
"""What the document names without defining it."""


def compiled(folder: Path, *includes: Path, source: str) -> FileDescriptorProto:
    """A `.proto` file as protoc understands it."""
    out = folder / "set"
    arguments = [f"-I{path}" for path in (*includes, ROOT, files("grpc_tools") / "_proto")]
    assert protoc.main(["protoc", *arguments, f"--descriptor_set_out={out}", source]) == 0
    (found,) = FileDescriptorSet.FromString(out.read_bytes()).file
    return found


@pytest.fixture
def both(tmp_path: Path) -> tuple[FileDescriptorProto, FileDescriptorProto]:
    """The document's, and ours."""
    return (
        compiled(tmp_path, HERE, source="document.proto"),
        compiled(tmp_path, source="steps/proto/step_runner.proto"),
    )


def named(found: Sequence[Any]) -> dict[str, Any]:
    return {one.name: one for one in found}


def enumerations(message: DescriptorProto) -> Iterator[tuple[str, list[tuple[str, int]]]]:
    """The values of its enumerations that the document may have."""
    for one in message.enum_type:
        yield one.name, values(one)


def values(one: EnumDescriptorProto) -> list[tuple[str, int]]:
    return [(value.name, value.number) for value in one.value if value.number < OWN]


def test_the_calls_are_those_of_the_document(both: tuple[FileDescriptorProto, FileDescriptorProto]) -> None:
    document, ours = both
    assert (document.package, list(document.service)) == (ours.package, list(ours.service))


def test_the_messages_are_those_of_the_document(both: tuple[FileDescriptorProto, FileDescriptorProto]) -> None:
    document, ours = both
    theirs, own = named(document.message_type), named(ours.message_type)
    assert theirs.keys() == own.keys()
    for name in theirs.keys() - ADDED:
        fields = [one for one in own[name].field if one.number < OWN]
        assert fields == list(theirs[name].field), name
        assert dict(enumerations(own[name])) == dict(enumerations(theirs[name])), name
        assert own[name].nested_type == theirs[name].nested_type, name
        assert own[name].options == theirs[name].options, name


def test_the_rule_of_names_is_there(both: tuple[FileDescriptorProto, FileDescriptorProto]) -> None:
    """An extension that nobody knows would be lost without a word."""
    for one in both:
        assert b"this.env.all(key, key.matches(" in named(one.message_type)["RunRequest"].options.SerializeToString()


def test_the_python_files_are_those_of_the_sources(tmp_path: Path) -> None:
    make(tmp_path)
    fresh = {path.relative_to(tmp_path): path.read_text() for path in tmp_path.rglob("*_pb2*.py*")}
    assert len(fresh) == 8
    for path, text in fresh.items():
        assert (ROOT / path).read_text() == text, f"run `python -m steps.proto`: {path} is old"
