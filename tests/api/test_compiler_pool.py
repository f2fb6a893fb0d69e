"""The process that compiles configurations."""

import sys
from pathlib import Path
from types import ModuleType

import pytest

from api.compiler_pool import compiler_pool


def test_it_imports_the_compiler_and_neither_the_server_nor_the_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = ModuleType("__main__")
    program.__file__ = str(tmp_path / "program.py")
    Path(program.__file__).write_text("import sqlalchemy\n")
    monkeypatch.setitem(sys.modules, "__main__", program)
    with compiler_pool() as pool:
        loaded = set(pool.submit(eval, "list(__import__('sys').modules)").result(timeout=60))
    assert sys.modules["__main__"] is program
    assert "domain.config.compile" in loaded
    assert not loaded & {"sqlalchemy", "fastapi", "temporalio", "pydantic", "api.services"}
