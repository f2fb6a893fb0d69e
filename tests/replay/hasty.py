"""A workflow that was changed without a thought for the histories there are: it reads SQL once more at its start."""

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from domain.messages import PipelineInput
    from workflows.pipeline import PipelineWorkflow


@workflow.defn(name="Pipeline")
class Hasty(PipelineWorkflow):
    """Replaying any history with this one must fail."""

    @workflow.init
    def __init__(self, order: PipelineInput) -> None:
        """Begin like the real one."""
        super().__init__(order)

    @workflow.run
    async def run(self, order: PipelineInput) -> str:
        """Load, then do what the real one does."""
        await self._load()
        return await super().run(order)
