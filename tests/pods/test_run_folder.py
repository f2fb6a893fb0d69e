"""The folder of one home."""

import json
from pathlib import Path

import pytest

from pods.process import own_identity
from pods.run_folder import RunFolder, RunRecord


def test_others_may_not_look_into_a_home_that_was_there_before(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o755)
    home.chmod(0o755)
    RunFolder(home)
    assert home.stat().st_mode & 0o777 == 0o700


def test_a_record_comes_back(tmp_path: Path) -> None:
    folder, record = RunFolder(tmp_path), RunRecord.of("a", own_identity(), ("x", "y"), restarts=2, children=("b",))
    folder.write(record)
    assert folder.read("a") == record
    assert record.identity == own_identity()


@pytest.mark.parametrize(("late", "is_same"), [(0.0, True), (1000.0, False)])
def test_a_record_of_an_earlier_version_is_known_by_its_seconds(tmp_path: Path, late: float, is_same: bool) -> None:
    own = own_identity()
    earlier = {"name": "a", "pid": own.pid, "create_time": own.create_time - late, "argv": ["x"], "restarts": 0}
    folder = RunFolder(tmp_path)
    (folder.run / "a.json").write_text(json.dumps(earlier))
    record = folder.read("a")
    assert record is not None
    assert (record.identity == own) is is_same
