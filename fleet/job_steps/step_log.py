"""Puts what a run of steps tells into the log of its job: each step is a section, and sensitive values are masked.

The same run gives the same bytes, whoever writes them and when: times are those that the run tells. So a runner that
goes on with a job writes it all again over what is there.
"""

from typing import Any, Final

from google.protobuf.json_format import MessageToDict

from fleet.trace import Trace
from steps.proto import runs_pb2 as messages
from steps.proto.step_runner_pb2 import StepResult

ENDED: Final = frozenset({StepResult.success, StepResult.failure, StepResult.cancelled})
SECTION: Final = "step_"
VERSION: Final = 1


class StepLog:
    """Takes events of one run in their order."""

    def __init__(self, trace: Trace, done: frozenset[str]) -> None:
        """`done` are the names of steps that an earlier attempt has done."""
        self._trace, self._done = trace, done
        self._open: list[str] = []
        self._results: list[StepResult] = []
        self._at = 0.0
        self.exit_code = 0
        """Of the command that has failed; 0 if none has."""

    def take(self, event: messages.FollowEventsResponse) -> None:
        """Write what an event says. Raises `StorageFull`."""
        if not event.HasField("result"):
            self._trace.write_output(event.data)
            return
        self._trace.mask(event.masks)
        result, path = event.result, tuple(event.result.path)
        self._at = result.time.ToNanoseconds() / 1_000_000_000
        if not path:
            return
        name = section_name(path)
        if result.status == StepResult.running and name not in self._open:
            self._trace.begin_section(name, self._title(path, result.step), self._at)
            self._open.append(name)
        elif result.status in ENDED:
            if result.status != StepResult.cancelled:  # what it is running has still to end, and may say so
                self._end(name)
            if len(path) == 1:
                self._results.append(result)
            self.exit_code = self.exit_code or max(0, result.exec_result.exit_code)

    def close(self) -> None:
        """End the sections of steps whose end nobody has told."""
        while self._open:
            self._end(self._open[-1])

    def document(self) -> dict[str, Any]:
        """What the steps of the job gave, for an attempt that begins in the middle; sensitive outputs are not kept."""
        return {"version": VERSION, "steps": [_kept(result) for result in self._results]}

    def _title(self, path: tuple[str, ...], reference: str) -> str:
        what = f"Step {' / '.join(path)}" + (f" ({reference})" if reference != "script" else "")
        return f"{what}: done by an earlier attempt" if path[0] in self._done else what

    def _end(self, name: str) -> None:
        if name in self._open:
            self._open.remove(name)
            self._trace.end_section(name, self._at)


def section_name(path: tuple[str, ...]) -> str:
    """The name of a step's section: names of steps have no dot."""
    return SECTION + ".".join(path)


def _kept(result: StepResult) -> dict[str, Any]:
    is_success = result.status == StepResult.success
    is_kept = is_success and not result.has_sensitive
    outputs = {name: MessageToDict(value) for name, value in result.outputs.items()}
    return {
        "name": result.name,
        "status": "success" if is_success else "failed",
        "is_kept": is_kept,
        "outputs": outputs if is_kept else {},
        "exports": dict(result.exports) if is_kept else {},
    }
