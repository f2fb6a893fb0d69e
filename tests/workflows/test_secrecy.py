"""Histories hold ids and names: no script, no variable, no log."""

import re

from domain.pipelines.status import Status
from tests.models.world import job
from tests.workflows.pod import Pod

CANARIES = ("canary-script", "canary-before", "canary-after", "canary-global", "canary-own", "canary-pipeline")
CONFIG = """
    stages: [build, test]
    variables: {GLOBAL: canary-global}
    build:
      stage: build
      script: [echo canary-script]
      before_script: [echo canary-before]
      after_script: [echo canary-after]
      variables: {OWN: canary-own}
      retry: 1
    test: {stage: test, script: [echo canary-script]}
    gate: {stage: test, script: [echo canary-script], when: manual}
"""


async def test_no_history_holds_scripts_or_variables(pod: Pod) -> None:
    pipeline_id = await pod.create(CONFIG, [{"key": "SECRET", "value": "canary-pipeline"}])
    await pod.run("build", Status.FAILED)
    await pod.run("build")
    first = await pod.run("test", Status.FAILED)
    await pod.ended(pipeline_id)
    await pod.ask(pipeline_id, "retry_job", first)
    await pod.run("test")
    await pod.ended(pipeline_id)
    histories = b""
    async for execution in pod.client.list_workflows(f"CiPipelineId = {pipeline_id}"):
        handle = pod.client.get_workflow_handle(execution.id, run_id=execution.run_id)
        for event in (await handle.fetch_history()).events:
            histories += event.SerializeToString()
    assert histories.count(b"after_script") == 0
    assert b"build" in histories
    assert [canary for canary in CANARIES if canary.encode() in histories] == []
    stored = str([tuple(row) for row in await pod.world.rows(job, pipeline_id=pipeline_id)])
    assert set(re.findall("canary-[a-z]+", stored)) == set(CANARIES) - {"canary-pipeline"}
