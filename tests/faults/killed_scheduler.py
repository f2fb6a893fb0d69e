"""`python -m tests.faults.killed_scheduler`: a server that kills itself on the way of a tick to its pipeline."""

import os
from pathlib import Path
from typing import Final

from tests.faults.kill_points import AFTER, BEFORE, Step
from tests.faults.killed_server import ARMED, Trap, forget_soon, lay, serve_again_and_again

POINTS: Final = {
    "the schedule is in SQL, Temporal was not told": Step("workflows.schedules:Schedules.put", BEFORE),
    "Temporal has the schedule, SQL does not know": Step("workflows.schedules:Schedules.put", AFTER),
    "the tick is written, not committed": Step("models.repositories.pipelines.schedule_ticks:ask_by_hand", AFTER),
    "the tick is committed": Step("activities.schedules:ScheduleActivities._recorded", AFTER),
    "the pipeline is compiled": Step("loops.schedule_ticks:wish_of", AFTER),
    "the pipeline is written, not committed": Step("loops.schedule_ticks:TickLoop._record", AFTER),
    "the pipeline is committed, nobody was told": Step("loops.schedule_ticks:TickLoop._settle", AFTER),
    "the activity knows the pipeline, Temporal does not": Step(
        "activities.schedules:ScheduleActivities.carry_out_tick", AFTER
    ),
}
"""Where the process dies, by what holds at that moment."""

if __name__ == "__main__":
    lay(Trap(Path(os.environ[ARMED])), {target for step in POINTS.values() for target in step.targets})
    forget_soon()
    serve_again_and_again()
