"""The process that compiles configurations."""

import os
import signal
import sys
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from types import ModuleType

import pytest

from application.configurations.compiler_pool import MARKS, GivenUp, OutOfTime, compiler_pool, within


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


def test_a_process_that_died_is_replaced() -> None:
    with compiler_pool() as pool:
        with pytest.raises(BrokenProcessPool):
            pool.submit(os.kill, pool.submit(os.getpid).result(60), signal.SIGKILL).result(60)
        assert pool.submit(len, "ab").result(60) == 2


def test_what_computes_too_long_is_ended_and_the_process_goes_on() -> None:
    with compiler_pool() as pool:
        with pytest.raises(OutOfTime):
            pool.submit(within, 0.5, MARKS.take(), endless).result(60)
        told, seconds = pool.submit(within, 5.0, MARKS.take(), os.getpid).result(60)
        assert (told != os.getpid(), seconds < 5.0) == (True, True)


def test_what_is_given_up_ends_and_other_work_goes_on() -> None:
    with compiler_pool() as pool:
        mine, other = MARKS.take(), MARKS.take()
        running = pool.submit(within, 60, mine, endless)
        MARKS.give_up(mine)
        with pytest.raises(GivenUp):
            running.result(30)
        assert pool.submit(within, 5.0, other, os.getpid).result(30)[0] != os.getpid()
        with pytest.raises(GivenUp):
            pool.submit(within, 60, mine, endless).result(30)
        MARKS.put_back(mine)


def endless() -> None:
    """Compute."""
    while True:
        sum(range(1000))
