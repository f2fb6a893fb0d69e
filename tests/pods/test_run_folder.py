"""The folder of one home."""

from pathlib import Path

from pods.run_folder import RunFolder


def test_others_may_not_look_into_a_home_that_was_there_before(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o755)
    home.chmod(0o755)
    RunFolder(home)
    assert home.stat().st_mode & 0o777 == 0o700
