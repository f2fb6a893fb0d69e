"""Records the histories that `test_replay` replays: `python -m tests.replay.record`.

Runs every shape on a real Temporal server and writes `histories/<shape>.json`, one line each. To be run again only
when the workflow changes on purpose, guarded by a patch or a new version; otherwise the old histories must replay.
"""

import asyncio
import json
import sys
import tempfile
from pathlib import Path
from typing import Final

from tests.replay.shapes import SHAPES
from tests.temporal import temporal_server
from tests.workflows.pod import Pod, running_pod

HISTORIES: Final = Path(__file__).parent / "histories"


async def record(pod: Pod, name: str) -> str:
    """Play one shape; the history of its workflow's latest run, as one line of JSON."""
    pipeline_id = await SHAPES[name](pod)
    await pod.ended(pipeline_id)
    history = await pod.handle(pipeline_id).fetch_history()
    return json.dumps(history.to_json_dict(), separators=(",", ":"), sort_keys=True)


async def main() -> None:
    """Record all shapes."""
    HISTORIES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        async with temporal_server(home) as address, running_pod(address, home) as pod:
            for name in SHAPES:
                text = await record(pod, name)
                (HISTORIES / f"{name}.json").write_text(text + "\n")
                sys.stdout.write(f"{name}: {len(text)} bytes\n")


if __name__ == "__main__":
    asyncio.run(main())
