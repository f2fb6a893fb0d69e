"""One Temporal server a run, one pod a test."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.temporal import temporal_server
from tests.workflows.pod import Pod, running_pod


@pytest.fixture(scope="session")
async def temporal(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[str]:
    """Address of the server."""
    async with temporal_server(
        tmp_path_factory.mktemp("temporal"), {"frontend.WorkflowPauseEnabled": "true"}
    ) as address:
        yield address


@pytest.fixture
async def pod(temporal: str, tmp_path: Path) -> AsyncIterator[Pod]:
    """A running pod of its own."""
    async with running_pod(temporal, tmp_path) as running:
        yield running
        await running.invariants_hold()
