"""The folder of a run: what is asked for, how far it is, its log and its results. All that outlives a process is here.

| file | what it holds |
|---|---|
| `request.json` | what is to be run; written before the process is started |
| `state.json` | how far it is |
| `stdout`, `stderr` | what commands have written |
| `results.jsonl` | a line for each step that has begun or ended |
| `lock` | locked as long as the process of the run lives |
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import orjson

from domain.errors import NotFound
from domain.steps.runs import NEXT, RunRequest, RunState, RunStatus, Variable
from files import durable

REQUEST: Final = "request.json"
STATE: Final = "state.json"
RESULTS: Final = "results.jsonl"
LOCK: Final = "lock"
_PRIVATE: Final = 0o700


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
        """What is to be run. Raises `NotFound`."""
        document = self._read(REQUEST)
        variables = {name: Variable(**one) for name, one in document.pop("variables").items()}
        return RunRequest(variables=variables, **document)

    def state(self) -> RunState:
        """How far it is. Raises `NotFound`."""
        document = self._read(STATE)
        return RunState(RunStatus(document.pop("status")), **document)

    def turn(self, state: RunState) -> bool:
        """Note how far it is; False where that cannot follow what is noted. Only for whoever has the lock."""
        if state.status not in NEXT[self.state().status]:
            return False
        self._write_state(state)
        return True

    @contextmanager
    def locked(self) -> Iterator[bool]:
        """Whether the lock is ours for as long as the block lasts: nobody else has it. It ends with the process."""
        fd = os.open(self.path / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, durable.PRIVATE)
        try:
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                yield False
            else:
                yield True
        finally:
            os.close(fd)

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
        return document
