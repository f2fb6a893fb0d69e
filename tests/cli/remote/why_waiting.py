"""Jobs that wait for others, for people, for their time or for a resource group: situations of `test_why.py`.

The words are written by hand, from what GitLab does in each (docs/reference/pipelines.md, "When a job may start").
"""

from typing import Final

from tests.cli.remote.situations import Situation
from tests.cli.remote.why_steps import DEPLOY, due, held_by_another, held_by_one_before_another, take

TWO_STAGES: Final = "stages: [build, test]\nbuild: {stage: build, script: x}\ncheck: {stage: test, script: x}\n"
NEEDED: Final = "build: {stage: build, script: x}\ncheck: {stage: test, script: x, needs: [build]}\n"
GATE: Final = "gate: {stage: build, script: x, when: manual, allow_failure: false}\nship: {stage: test, script: x}\n"
WAIT: Final = "It goes on by itself when they have ended."

WAITING: Final = (
    Situation("stage", TWO_STAGES, "check", "jobs", "It waits for stage build: build (pending or running).", WAIT),
    Situation(
        "needs", NEEDED, "check", "jobs", "It waits for jobs that it needs: build (running).", WAIT, take("build")
    ),
    Situation("blocked", GATE, "ship", "jobs", "It waits for stage build: gate (manual).", "Play gate."),
    Situation(
        "manual later",
        "build: {stage: build, script: x}\nship: {stage: deploy, script: x, when: manual}\n",
        "ship",
        "jobs",
        "It waits for stage build: build (pending or running).",
        "It can be played when they have ended.",
    ),
    Situation("manual", GATE, "gate", "person", "It waits for a person; so does all that comes after it.", "Play it."),
    Situation(
        "optional",
        "ship: {script: x, when: manual}\none: {script: x}\n",
        "ship",
        "person",
        "It waits for a person; the pipeline does not wait for it.",
        "Play it.",
    ),
    Situation(
        "delayed",
        "slow: {script: x, when: delayed, start_in: 1 day}\n",
        "slow",
        "time",
        "It is due at {due}.",
        "It starts by itself then; play it to start it now.",
        due,
    ),
    Situation(
        "behind delayed",
        "slow: {stage: build, script: x, when: delayed, start_in: 1 day}\ncheck: {stage: test, script: x}\n",
        "check",
        "jobs",
        "It waits for stage build: slow (delayed).",
        WAIT,
    ),
    Situation(
        "held group",
        DEPLOY,
        "deploy",
        "resource_group",
        "It waits for resource group live, which deploy (job {holder} of pipeline {first}, running) holds. It is next.",
        "It goes on by itself when that job has ended; cancel that one if it shall not go on.",
        held_by_another,
    ),
    Situation(
        "third in group",
        DEPLOY,
        "deploy",
        "resource_group",
        "It waits for resource group live, which deploy (job {holder} of pipeline {first}, running) holds. "
        "1 job is before it.",
        "It goes on by itself when that job has ended; cancel that one if it shall not go on.",
        held_by_one_before_another,
    ),
)
