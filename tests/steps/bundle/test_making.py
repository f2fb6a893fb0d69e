"""Who cannot make a bundle is told what is missing."""

import importlib.util
from pathlib import Path
from typing import Any

import pytest

from domain.errors import Unavailable
from steps.bundle.making import make_bundle


def test_without_pyinstaller_it_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    find = importlib.util.find_spec

    def without(name: str, *more: Any) -> Any:
        return None if name == "PyInstaller" else find(name, *more)

    monkeypatch.setattr(importlib.util, "find_spec", without)
    with pytest.raises(Unavailable, match=r"pip install 'perdure\[bundle\]'"):
        make_bundle("cli.bundled", tmp_path / "made")
    assert list(tmp_path.iterdir()) == []
