"""What is stored of an index says the same when it is read again."""

import pytest

from domain.logs import packing
from domain.logs.index import BEGIN, extended
from domain.logs.packing import packed, unpacked

LOG = (
    b"section_start:1:build[collapsed=true]\r\x1b[0K\x1b[36;1mBuild <it>\n"
    + b"\x1b[38;2;1;2;3;1mERROR: \xff no\n" * 9_000
    + b"section_end:61:build\r\x1b[0Krest"
)


def test_a_part_is_read_as_it_was_written() -> None:
    part = BEGIN.followed_by(extended(BEGIN.after, LOG, is_last=False))
    assert len(part.checkpoints) > 3
    assert len(part.errors) >= 1
    assert len(part.marks) == 1
    assert unpacked(packed(part)) == part


def test_parts_of_another_version_are_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    content = packed(extended(BEGIN.after, LOG, is_last=True))
    monkeypatch.setattr(packing, "VERSION", packing.VERSION + 1)
    assert unpacked(content) is None
