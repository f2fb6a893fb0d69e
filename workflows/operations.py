"""Updates and signals of workflow `Pipeline`: what people may ask of it, and what the outbox tells it.

Validators look at shapes only. Handlers queue, the loop of the workflow is the only mutator; an update waits until its
answer is recorded. Signals carry the same commands for those who do not wait; nobody can be told of a wrong one, so it
is logged and does nothing.

Every handler takes whatever was sent, also nothing: input that the SDK cannot match with a handler's parameters would
fail the workflow's task again and again instead of being answered.
"""

from collections.abc import Awaitable, Callable
from typing import Any, Final, TypeVar

from temporalio import workflow
from temporalio.exceptions import ApplicationError, ApplicationErrorCategory

with workflow.unsafe.imports_passed_through():
    from dataclasses import replace

    from domain.errors import Invalid
    from domain.messages import Answer, Command, Operation
    from domain.pipelines.operation_input import read_do, read_operation
    from workflows.step_beginnings import refusal_to_begin

OPERATIONS: Final = {
    "cancel_pipeline": 'Cancel every job that has not ended: {} or {"reason": "why"}.',
    "retry_pipeline": "Run every failed or canceled job again, give skipped ones another chance: {}.",
    "cancel_job": 'Cancel one job: {"job_id": 42} or {"job_id": 42, "reason": "why"}.',
    "retry_job": 'Run a finished job again, as a new attempt: {"job_id": 42}; from a step of its `run` on: '
    '{"job_id": 42, "from_step": "build"}.',
    "play_job": 'Start a manual or delayed job now: {"job_id": 42}.',
    "unschedule_job": 'Let a delayed job wait for a person instead of its time: {"job_id": 42}.',
}
"""What people ask for, by update or signal, and how the Temporal Web UI describes it."""

MESSAGES: Final = {
    "auto_cancel": "For Perdure itself: a newer commit has made this pipeline redundant.",
    "mirror_downstream": "For Perdure itself: a bridge takes over the status of its downstream pipeline.",
    "revive_bridge": "For Perdure itself: the downstream pipeline of a finished bridge runs again.",
}
"""What only the outbox sends, as signals."""

READ_AGAIN: Final = frozenset({"mirror_downstream"})
"""Messages about what only SQL knows: it is read before they are obeyed."""

_RELOAD: Final = "Read the database again: what Temporal has lost is found there. Takes nothing."

T = TypeVar("T")


class Inbox:
    """What a pipeline workflow was asked, and what became of it.

    `_commands` wait for the next turn of the loop, `_granted` are jobs that were told that a slot of their resource
    group is theirs, `_reload` asks for reading SQL again. `_taken` are the keys of this run's commands, `_answers` what
    became of them.
    """

    def __init__(self) -> None:
        """Begin with nothing asked and nothing answered."""
        self._commands: list[Command] = []
        self._taken: set[str] = set()
        self._answers: dict[str, Answer] = {}
        self._granted: set[int] = set()
        self._reload = False
        self._is_loading = False

    def _queue(self, name: str, operation: Operation, default_key: str = "") -> str:
        key = operation.key or default_key or str(workflow.uuid4())
        if key not in self._taken and key not in self._answers:
            self._taken.add(key)
            self._commands.append(
                Command(
                    name,
                    key,
                    operation.job_id,
                    dict(operation.variables),
                    reason=operation.reason,
                    from_step=operation.from_step,
                )
            )
        return key

    def _obey_start(self, given: Any, default_key: str) -> None:
        """Queue the command that was given with the start of the workflow. Raises `ApplicationError` for a wrong one.

        It is carried out once, however often the run is reset or continued: its key is that of the first run.
        """
        if given is None:
            return
        try:
            name, operation = read_do(given)
        except Invalid as error:
            raise ApplicationError(
                str(error), type="Invalid", non_retryable=True, category=ApplicationErrorCategory.BENIGN
            ) from error
        self._queue(name, operation, default_key)

    async def _look_up_steps(self, pipeline_id: int) -> None:
        """Find out of each command that wants to begin at a step whether it can, and have kept what that needs."""
        while (command := next((one for one in self._commands if one.from_step), None)) is not None:
            refused = await refusal_to_begin(pipeline_id, command)
            place = next(place for place, one in enumerate(self._commands) if one.key == command.key)
            self._commands[place] = replace(command, from_step="", refused=refused)

    async def _obey(self, name: str, given: tuple[Any, ...]) -> Answer:
        """Queue a command and wait for its answer; without a key, the id of the update serves as one."""
        update = workflow.current_update_info()
        key = self._queue(name, _read_update(name, given), "" if update is None else update.id)
        await workflow.wait_condition(lambda: key in self._answers)
        answer = self._answers[key]
        if answer.refused:
            raise ApplicationError(answer.refused, type="Refused", non_retryable=True)
        return answer


def _with_handlers(cls: type[T]) -> type[T]:
    """Give a class an update and a signal for each operation, and a signal for each message."""
    for name, description in OPERATIONS.items():
        setattr(cls, name, _update(name, description))
        setattr(cls, f"{name}_signal", _signal(name, description))
    for name, description in MESSAGES.items():
        setattr(cls, f"{name}_signal", _signal(name, description))
    return cls


def _update(name: str, description: str) -> Any:
    async def handler(self: Inbox, *given: Any) -> Answer:
        return await self._obey(name, given)

    def shape(self: Inbox, *given: Any) -> None:  # noqa: ARG001  # the SDK compares it with the handler
        _read_update(name, given)

    handler.__name__ = name
    made: Any = workflow.update(name=name, description=description)(handler)
    made.validator(shape)
    return made


def _signal(name: str, description: str) -> Callable[..., Awaitable[None] | None]:
    def handler(self: Inbox, *given: Any) -> None:
        operation = _read_signal(name, given)
        if operation is not None:
            self._queue(name, operation)
            # The API has let the bridge run with its downstream pipeline; nobody has told this workflow of it.
            self._reload = self._reload or name in READ_AGAIN

    handler.__name__ = f"{name}_signal"
    return workflow.signal(name=name, description=description)(handler)


def _read_update(name: str, given: tuple[Any, ...]) -> Operation:
    """The operation; raised in a handler, any other error than this one would stop the whole workflow."""
    try:
        return read_operation(name, given)
    except Invalid as error:
        raise ApplicationError(str(error), type="Invalid", non_retryable=True) from error


def _read_signal(name: str, given: tuple[Any, ...]) -> Operation | None:
    try:
        return read_operation(name, given)
    except Invalid as error:
        workflow.logger.warning("A signal was ignored: %s", error)
        return None


@_with_handlers
class Operations(Inbox):
    """The handlers of a pipeline workflow: those of the tables above, and those that are no commands."""

    @workflow.update(description=_RELOAD)
    async def reconcile(self, *given: Any) -> str:
        """Read SQL again, and say when it was read."""
        operation = _read_update("reconcile", given)
        self._reload = True
        await workflow.wait_condition(lambda: not self._reload and not self._is_loading)
        return operation.key

    @reconcile.validator
    def _reconcile_shape(self, *given: Any) -> None:
        _read_update("reconcile", given)

    @workflow.signal(name="reconcile", description=_RELOAD)
    def _reconcile_signal(self, *_given: Any) -> None:
        self._reload = True

    @workflow.signal(description="For Perdure itself: the slot of its resource group is free for a job.")
    def resource_granted(self, *given: Any) -> None:
        """Remember the job; the loop tries to take the slot for it."""
        operation = _read_signal("resource_granted", given)
        if operation is not None and operation.job_id is not None:
            self._granted.add(operation.job_id)
