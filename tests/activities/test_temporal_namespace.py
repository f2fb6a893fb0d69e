"""A Temporal namespace is made by the pod, and belongs to one installation."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from uuid import uuid4

import pytest
from temporalio.api.workflowservice.v1 import DescribeNamespaceRequest
from temporalio.client import Client

from activities.temporal_namespace import make_namespace, missing_attributes, prepare_namespace
from domain.errors import Invalid
from tests.temporal import new_namespace, temporal_server
from workflows import search_attributes


@pytest.fixture(scope="module")
async def temporal(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[str]:
    """Address of a server."""
    async with temporal_server(tmp_path_factory.mktemp("temporal")) as address:
        yield address


async def test_a_namespace_of_another_installation_is_refused_and_stays_what_it_is(temporal: str) -> None:
    client = await Client.connect(temporal, namespace=await new_namespace(temporal))
    await prepare_namespace(client, "mine")
    await prepare_namespace(client, "mine")
    with pytest.raises(Invalid, match=r"belongs to installation mine, the database to yours:\s*check PERDURE_TEMPORAL"):
        await prepare_namespace(client, "yours")
    await prepare_namespace(client, "mine")


async def test_a_copy_keeps_away_from_the_namespace_of_its_original_until_it_is_promoted(temporal: str) -> None:
    client = await Client.connect(temporal, namespace=await new_namespace(temporal))
    await prepare_namespace(client, "original")
    with pytest.raises(Invalid, match=r"This is a copy of installation original.*`perdure promote`"):
        await prepare_namespace(client, "copy", restored_from="original", is_copy=True)
    await prepare_namespace(client, "original")
    await prepare_namespace(client, "copy", restored_from="original")
    with pytest.raises(Invalid, match="belongs to installation copy"):
        await prepare_namespace(client, "original")


async def test_a_namespace_that_has_everything_is_left_alone(temporal: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The server logs a warning for each attribute that it is asked to add and has."""
    client = await Client.connect(temporal, namespace=await new_namespace(temporal))
    assert await missing_attributes(client) == [key.name for key in search_attributes.ALL]
    await prepare_namespace(client, "mine")
    assert await missing_attributes(client) == []

    async def add(*_: object) -> None:
        raise AssertionError("nothing is to be added")

    monkeypatch.setattr(client.operator_service, "add_search_attributes", add)
    await prepare_namespace(client, "mine")


async def test_a_namespace_that_is_not_there_is_made_once_and_takes_workflows_at_once(temporal: str) -> None:
    """By processes that start at the same moment, too."""
    name, retention = f"pod-{uuid4().hex[:8]}", timedelta(days=3)
    clients = [await Client.connect(temporal, namespace=name) for _ in range(3)]
    assert await missing_attributes(clients[0]) == [key.name for key in search_attributes.ALL]
    await asyncio.gather(*(prepare_namespace(client, "mine", retention.total_seconds()) for client in clients))
    assert not await make_namespace(clients[0], retention.total_seconds())
    assert await missing_attributes(clients[0]) == []
    found = await clients[0].workflow_service.describe_namespace(DescribeNamespaceRequest(namespace=name))
    assert found.config.workflow_execution_retention_ttl.ToTimedelta() == retention
    handle = await clients[0].start_workflow("Pipeline", id="pipeline-1", task_queue="pipelines")
    await handle.terminate()
