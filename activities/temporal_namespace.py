"""The namespace of a pod in Temporal: made, given our search attributes, and marked as ours."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta
from typing import Final

from temporalio.api.enums.v1 import IndexedValueType
from temporalio.api.operatorservice.v1 import AddSearchAttributesRequest, ListSearchAttributesRequest
from temporalio.api.workflowservice.v1 import (
    DescribeNamespaceRequest,
    RegisterNamespaceRequest,
    UpdateNamespaceRequest,
)
from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

from domain.errors import Invalid
from workflows import search_attributes

_INSTALLATION: Final = "perdure_installation"
_TYPES: Final = {
    "Keyword": IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD,
    "Int": IndexedValueType.INDEXED_VALUE_TYPE_INT,
}


_MAY_NOT: Final = frozenset(
    {RPCStatusCode.PERMISSION_DENIED, RPCStatusCode.UNAUTHENTICATED, RPCStatusCode.UNIMPLEMENTED}
)
WEEK: Final = 7 * 86400.0
KNOWN_WITHIN: Final = 60.0
_PAUSE: Final = 0.25
"""Seconds."""


async def missing_attributes(client: Client) -> list[str]:
    """Our search attributes that the namespace does not have, or lacks with itself.

    Raises `RPCError` while Temporal is away.
    """
    request = ListSearchAttributesRequest(namespace=client.namespace)
    try:
        there = await client.operator_service.list_search_attributes(request)
    except RPCError as error:
        if error.status is not RPCStatusCode.NOT_FOUND:
            raise
        return [key.name for key in search_attributes.ALL]
    return [key.name for key in search_attributes.ALL if key.name not in there.custom_attributes]


async def prepare_namespace(
    client: Client, installation_id: str, retention: float = WEEK, *, restored_from: str = "", is_copy: bool = False
) -> None:
    """Make the namespace, add our search attributes, and mark it as ours. What is there already is left as it is.

    A new one keeps what has ended for `retention` seconds. That of the installation that we were restored from becomes
    ours, unless we are a copy. Raises `Invalid` if the namespace is another installation's, or there is none and we may
    not make it.
    """
    if not await make_namespace(client, retention):
        await _refuse_copy(client, restored_from if is_copy else "")
    # Only those that are missing: the server logs a warning for each that is there.
    missing = await missing_attributes(client)
    if missing:
        await _add(client, missing)
    await _mark(client, installation_id, restored_from)


async def _refuse_copy(client: Client, original: str) -> None:
    """Raise `Invalid` for the namespace of the installation that this is a copy of: it runs there, or may come back."""
    if original and await _owner(client) == original:
        raise Invalid(
            f"This is a copy of installation {original}, whose workflows are in the namespace {client.namespace} of "
            "this Temporal: give the copy another Temporal (PERDURE_TEMPORAL_ADDRESS) or namespace "
            "(PERDURE_TEMPORAL_NAMESPACE). If the original is gone: `perdure promote`."
        )


async def _owner(client: Client) -> str:
    """Whose the namespace is; empty for nobody's."""
    found = await client.workflow_service.describe_namespace(DescribeNamespaceRequest(namespace=client.namespace))
    return str(found.namespace_info.data.get(_INSTALLATION, ""))


async def make_namespace(client: Client, retention: float) -> bool:
    """Make the client's namespace if there is none; whether it was made. Raises `Invalid` where we may not."""
    service = client.workflow_service
    try:
        await service.describe_namespace(DescribeNamespaceRequest(namespace=client.namespace))
    except RPCError as error:
        if error.status is not RPCStatusCode.NOT_FOUND:
            raise
    else:
        return False
    request = RegisterNamespaceRequest(namespace=client.namespace, description="Pipelines of a Perdure pod")
    request.workflow_execution_retention_period.FromTimedelta(timedelta(seconds=retention))
    try:
        await service.register_namespace(request)
    except RPCError as refused:
        if refused.status in _MAY_NOT:
            raise Invalid(
                f"Temporal has no namespace {client.namespace}, and does not let us make it ({refused.message}): make "
                f"it there, by `temporal operator namespace create --namespace {client.namespace}` or on its pages."
            ) from refused
        # Unless another process was quicker.
        if refused.status is not RPCStatusCode.ALREADY_EXISTS:
            raise
    return True


async def _add(client: Client, names: Sequence[str]) -> None:
    """Add search attributes; parts of a server learn of a new namespace some seconds after it was made."""
    types = {name: _TYPES["Int" if name == search_attributes.PIPELINE_ID.name else "Keyword"] for name in names}
    request = AddSearchAttributesRequest(namespace=client.namespace, search_attributes=types)
    async with asyncio.timeout(KNOWN_WITHIN):
        while True:
            try:
                await client.operator_service.add_search_attributes(request)
            except RPCError as error:
                if error.status is RPCStatusCode.NOT_FOUND:
                    await asyncio.sleep(_PAUSE)
                    continue
                if error.status is not RPCStatusCode.ALREADY_EXISTS:  # another process was quicker
                    raise
            return


async def _mark(client: Client, installation_id: str, replaced: str) -> None:
    found = await client.workflow_service.describe_namespace(DescribeNamespaceRequest(namespace=client.namespace))
    owner = found.namespace_info.data.get(_INSTALLATION)
    if owner == installation_id:
        return
    if owner and owner != replaced:
        raise Invalid(
            f"Temporal namespace {client.namespace} belongs to installation {owner}, the database to "
            f"{installation_id}: "
            "check PERDURE_TEMPORAL_ADDRESS, PERDURE_TEMPORAL_NAMESPACE and PERDURE_DATABASE_URL."
        )
    update = UpdateNamespaceRequest(namespace=client.namespace)
    update.update_info.data[_INSTALLATION] = installation_id
    with suppress(AttributeError):
        update.update_info.description = found.namespace_info.description
    await client.workflow_service.update_namespace(update)
