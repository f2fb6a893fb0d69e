"""A supervisor of a table of small children, run as `python -m tests.pods.small_supervisor HOME TABLE`.

TABLE is JSON: a list of {"name": str, "code": str, "after"?: [str], "port"?: int, "only_if"?: str}.
"""

import asyncio
import json
import logging
import os
import sys
from pathlib import Path

from pods.child import Child, Ready
from pods.run_folder import RunFolder
from pods.supervisor import supervise


def main() -> None:
    """Supervise until SIGTERM."""
    logging.basicConfig(level="INFO")
    children = [
        Child(
            name=row["name"],
            argv=(sys.executable, "-u", "-c", row["code"]),
            env=dict(os.environ),
            ready=Ready("127.0.0.1", row["port"]) if "port" in row else None,
            after=tuple(row.get("after", ())),
            only_if=Path(row["only_if"]) if "only_if" in row else None,
        )
        for row in json.loads(sys.argv[2])
    ]
    asyncio.run(supervise(children, RunFolder(Path(sys.argv[1]))))


if __name__ == "__main__":
    main()
