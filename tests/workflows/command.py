"""The real `temporal` command, as an operator uses it."""

import asyncio
import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.program import environment

PATIENCE = 60.0


@dataclass(frozen=True)
class Said:
    """How a command ended and what it wrote: `text` is everything, `out` only its standard output."""

    code: int
    out: str
    text: str

    def json(self) -> Any:
        """The standard output as JSON."""
        return json.loads(self.out)


async def temporal(address: str, *words: str, within: float = PATIENCE) -> Said:
    """Run `temporal` with these words against a server; TimeoutError if it hangs."""
    command = str(Path(sys.executable).with_name("temporal"))
    process = await asyncio.create_subprocess_exec(
        command,
        *words,
        env=environment(TEMPORAL_ADDRESS=address, NO_COLOR="1"),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        out, err = await asyncio.wait_for(process.communicate(), within)
    except TimeoutError:
        process.kill()
        await process.wait()
        raise
    assert process.returncode is not None
    return Said(process.returncode, out.decode(), out.decode() + err.decode())
