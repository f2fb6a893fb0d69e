"""`perdure down`: stop everything of a home; its state stays."""

import asyncio

from pods.process import end, end_group, is_alive
from pods.run_folder import SUPERVISOR, RunFolder, RunRecord
from pods.supervisor import GRACE
from settings import Settings


def down(settings: Settings) -> int:
    """Stop the supervisor, which stops its children; then what is left. Returns how many processes were stopped."""
    folder = RunFolder(settings.home)
    living = _living(folder)
    supervisor = folder.read(SUPERVISOR)
    if supervisor:
        # It waits for its children one after the other.
        asyncio.run(end(supervisor.identity, GRACE * (len(living) + 1)))
        folder.forget(SUPERVISOR)
    for record in _living(folder):
        asyncio.run(end(record.identity, GRACE))
        end_group(record.identity, folder.mark(record.name))
    for path in folder.run.glob("*.json"):
        folder.forget(path.stem)
    return len(living)


def _living(folder: RunFolder) -> list[RunRecord]:
    """Every recorded process that lives, the youngest first: that is the reverse of the order of their start."""
    records = [folder.read(path.stem) for path in folder.run.glob("*.json")]
    living = [record for record in records if record and is_alive(record.identity)]
    return sorted(living, key=lambda record: record.create_time, reverse=True)
