"""The table: a line for each route with the answers that everybody gets, on their own objects and on foreign ones.

`python -m tests.permissions.matrix` writes it anew; what has changed then is to be looked at line by line.
"""

import asyncio
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from tests.permissions.calls import call_of
from tests.permissions.place import EVERYBODY, Place, open_place
from tests.permissions.routes import every_route

FILE: Final = Path(__file__).with_name("matrix.txt")
_HEAD: Final = f"""\
# Answers to {", ".join(EVERYBODY)}: on the objects of a group in which they have that role | of a foreign one.
# Written by `python -m tests.permissions.matrix`, and compared with what the application does by test_matrix.py.
"""
_WIDTH: Final = 86


async def row(place: Place, method: str, route: str) -> str:
    """The line of a route."""
    call = call_of(method, route)
    sides = []
    for side in ("own", "foreign"):
        found = [str(await place.status(call, who, side)) for who in EVERYBODY]
        sides.append(" ".join(found))
    return f"{f'{method} {route}':<{_WIDTH}} {' | '.join(sides)}"


async def rows(place: Place, routes: Iterable[tuple[str, str]]) -> list[str]:
    """The lines of these routes."""
    return [await row(place, method, route) for method, route in routes]


def read() -> dict[str, str]:
    """What the table says, by route."""
    lines = (line for line in FILE.read_text().splitlines() if line and not line.startswith("#"))
    return {" ".join(line.split()[:2]): line for line in lines}


async def _write() -> None:
    with tempfile.TemporaryDirectory() as folder:
        async with open_place(Path(folder)) as place:
            lines = await rows(place, every_route(place.site.services))
    FILE.write_text(_HEAD + "\n".join(lines) + "\n")
    sys.stdout.write(f"{FILE}: {len(lines)} routes\n")


if __name__ == "__main__":
    asyncio.run(_write())
