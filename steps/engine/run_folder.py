"""The folder of a run: what is asked for, how far it is, its log and its results. All that outlives a process is here.

| file | what it holds |
|---|---|
| `request.json` | what is to be run; written before the process is started |
| `state.json` | how far it is |
| `stdout`, `stderr` | what commands have written |
| `results.jsonl` | a line for each step that has begun or ended |
| `order` | in which order pieces of the log came |
| `cancelled` | is there once somebody wants the run to end |
| `lock` | locked as long as the process of the run lives |
"""

import contextlib
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import orjson

from domain.errors import NotFound, Refused
from domain.steps.runs import NEXT, DoneStep, RunRequest, RunState, RunStatus, Variable
from files import durable
from files.locks import is_taken

REQUEST: Final = "request.json"
STATE: Final = "state.json"
RESULTS: Final = "results.jsonl"
LOCK: Final = "lock"
CANCELLED: Final = "cancelled"
_PRIVATE: Final = 0o700
_LOOK: Final = 0.01


class Damaged(Refused):
    """Somebody else has written into a file of the run: its own steps can."""


@dataclass(frozen=True, slots=True)
class RunFolder:
    """The folder of one run."""

    path: Path

    def create(self, request: RunRequest) -> bool:
        """Write down what is to be run; False where a run of this id is there already."""
        self.path.mkdir(mode=_PRIVATE, parents=True, exist_ok=True)
        self._write_state(RunState(RunStatus.PENDING), is_new=True)
        return durable.create(self.path / REQUEST, orjson.dumps(asdict(request)))

    def request(self) -> RunRequest:
        """What is to be run. Raises `NotFound`, and `Damaged` where somebody else has written there."""
        document = self._read(REQUEST)
        try:
            variables = {name: Variable(**one) for name, one in document.pop("variables").items()}
            done = {name: DoneStep(**one) for name, one in document.pop("done", {}).items()}
            present = tuple(document.pop("present", ()))
            return RunRequest(variables=variables, done=done, present=present, **document)
        except (AttributeError, KeyError, TypeError, ValueError):
            raise self._changed(REQUEST) from None

    def state(self) -> RunState:
        """How far it is. Raises `NotFound`, and `Damaged` where somebody else has written there."""
        document = self._read(STATE)
        try:
            return RunState(RunStatus(document.pop("status")), **document)
        except (AttributeError, KeyError, TypeError, ValueError):
            raise self._changed(STATE) from None

    def turn(self, state: RunState) -> bool:
        """Note how far it is; False where that cannot follow what is noted. Only for whoever has the lock."""
        with contextlib.suppress(NotFound, Damaged):
            if state.status not in NEXT[self.state().status]:
                return False
        self._write_state(state)
        return True

    @contextmanager
    def locked(self, patience: float = 0) -> Iterator[bool]:
        """Whether the lock is ours for as long as the block lasts: nobody else has it. It ends with the process.

        Whoever only looks whether a process has it takes it for a moment: a process waits `patience` seconds.
        """
        fd = os.open(self.path / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, durable.PRIVATE)
        deadline = time.monotonic() + patience
        try:
            while not (is_ours := is_taken(fd)) and time.monotonic() < deadline:
                time.sleep(_LOOK)
            yield is_ours
        finally:
            os.close(fd)

    def cancel(self) -> None:
        """Want the run to end, also one whose process is only about to begin."""
        (self.path / CANCELLED).touch(mode=durable.PRIVATE)

    @property
    def is_cancelled(self) -> bool:
        """Whether somebody wants it to end."""
        return (self.path / CANCELLED).exists()

    @property
    def is_held(self) -> bool:
        """Whether a process has the lock."""
        with self.locked() as is_ours:
            return not is_ours

    def _write_state(self, state: RunState, *, is_new: bool = False) -> None:
        content = orjson.dumps(asdict(state))
        if is_new:
            durable.create(self.path / STATE, content)
        else:
            durable.replace(self.path / STATE, content)

    def _read(self, name: str) -> dict[str, Any]:
        try:
            document: dict[str, Any] = orjson.loads((self.path / name).read_bytes())
        except FileNotFoundError:
            raise NotFound(f"there is no run {self.path.name}") from None
        except (OSError, ValueError):
            raise self._changed(name) from None
        return document

    def _changed(self, name: str) -> Damaged:
        return Damaged(f"{name} of run {self.path.name} is not what it was")
