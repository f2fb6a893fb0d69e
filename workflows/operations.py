"""Updates and signals of workflow `Pipeline`: what people may ask of it.

Validators look at shapes only. Handlers queue, the loop of the workflow is the only mutator; an update waits until its
answer is recorded. Signals carry the same commands for those who do not wait.
"""

from temporalio import workflow
from temporalio.exceptions import ApplicationError

with workflow.unsafe.imports_passed_through():
    from domain.messages import Answer, Command, Operation


class Operations:
    """The inbox of a pipeline workflow."""

    def __init__(self) -> None:
        """Begin with nothing asked and nothing answered."""
        self._commands: list[Command] = []
        self._taken: set[str] = set()
        self._answers: dict[str, Answer] = {}
        self._reload = False

    def _queue(self, name: str, operation: Operation) -> str:
        key = operation.key or str(workflow.uuid4())
        if key not in self._taken and key not in self._answers:
            self._taken.add(key)
            self._commands.append(Command(name, key, operation.job_id, dict(operation.variables)))
        return key

    async def _obey(self, name: str, operation: Operation) -> Answer:
        key = self._queue(name, operation)
        await workflow.wait_condition(lambda: key in self._answers)
        answer = self._answers[key]
        if answer.refused:
            raise ApplicationError(answer.refused, type="Refused", non_retryable=True)
        return answer

    @workflow.update
    async def cancel_pipeline(self, operation: Operation) -> Answer:
        """Cancel every job that has not ended."""
        return await self._obey("cancel_pipeline", operation)

    @workflow.update
    async def retry_pipeline(self, operation: Operation) -> Answer:
        """Run every failed or canceled job again."""
        return await self._obey("retry_pipeline", operation)

    @workflow.update
    async def cancel_job(self, operation: Operation) -> Answer:
        """Cancel one job."""
        return await self._obey("cancel_job", operation)

    @workflow.update
    async def retry_job(self, operation: Operation) -> Answer:
        """Run a finished job again, as a new attempt."""
        return await self._obey("retry_job", operation)

    @workflow.update
    async def play_job(self, operation: Operation) -> Answer:
        """Start a manual or delayed job now."""
        return await self._obey("play_job", operation)

    @workflow.update
    async def reconcile(self, operation: Operation) -> str:
        """Read SQL again: verdicts that Temporal lost are found there."""
        self._reload = True
        await workflow.wait_condition(lambda: not self._reload)
        return operation.key

    @cancel_job.validator
    def _cancel_job_shape(self, operation: Operation) -> None:
        _needs_job("cancel_job", operation)

    @retry_job.validator
    def _retry_job_shape(self, operation: Operation) -> None:
        _needs_job("retry_job", operation)

    @play_job.validator
    def _play_job_shape(self, operation: Operation) -> None:
        _needs_job("play_job", operation)

    @cancel_pipeline.validator
    def _cancel_pipeline_shape(self, operation: Operation) -> None:
        _needs_no_job("cancel_pipeline", operation)

    @retry_pipeline.validator
    def _retry_pipeline_shape(self, operation: Operation) -> None:
        _needs_no_job("retry_pipeline", operation)

    @workflow.signal(name="cancel_pipeline")
    def _cancel_pipeline_signal(self, operation: Operation) -> None:
        self._queue("cancel_pipeline", operation)

    @workflow.signal(name="retry_pipeline")
    def _retry_pipeline_signal(self, operation: Operation) -> None:
        self._queue("retry_pipeline", operation)

    @workflow.signal(name="cancel_job")
    def _cancel_job_signal(self, operation: Operation) -> None:
        self._queue("cancel_job", operation)

    @workflow.signal(name="retry_job")
    def _retry_job_signal(self, operation: Operation) -> None:
        self._queue("retry_job", operation)

    @workflow.signal(name="play_job")
    def _play_job_signal(self, operation: Operation) -> None:
        self._queue("play_job", operation)

    @workflow.signal(name="reconcile")
    def _reconcile_signal(self, _operation: Operation) -> None:
        self._reload = True


def _needs_job(name: str, operation: Operation) -> None:
    if operation.job_id is None:
        raise ValueError(f'{name} needs the id of a job: {{"job_id": 42}}.')


def _needs_no_job(name: str, operation: Operation) -> None:
    if operation.job_id is not None:
        raise ValueError(f"{name} concerns the whole pipeline; leave job_id out, or use {name.split('_')[0]}_job.")
