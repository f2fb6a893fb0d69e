"""Jobs that wait for a runner, or whose runner is silent: situations of `test_why.py`.

The words are written by hand, from what GitLab does in each (docs/reference/pipelines.md, "When a job may start").
"""

from typing import Final

from tests.cli.remote.situations import Situation
from tests.cli.remote.why_steps import (
    history,
    instance_runners_are_off,
    no_runner,
    offline_runner,
    paused_and_silent,
    runner,
    silent,
    take,
    unprotected_ref,
)

ONE: Final = "one: {script: x}\n"
GPU: Final = "one: {script: x, tags: [gpu]}\n"
HOUR: Final = " It fails when no runner could take it for 60 min."
UNKNOWN: Final = "How long it takes cannot be told: in the last hour too few such jobs waited this long."
HISTORY: Final = "".join(f"old {number}: {{stage: build, script: x}}\n" for number in range(6)) + (
    "one: {stage: test, script: x}\n"
)

QUEUED: Final = (
    Situation(
        "no runner",
        ONE,
        "one",
        "stuck",
        "No runner is registered. Register one, and the job starts.",
        f"`perdure runner create` tells how.{HOUR}",
        before=no_runner,
    ),
    Situation(
        "no such tag",
        GPU,
        "one",
        "stuck",
        "No runner of this project has the tag gpu. Nearest is runner #{shared} (a runner of tests): it lacks gpu.",
        f"Register a runner that has them, `perdure runner create --tag gpu`, or change the job's `tags`.{HOUR}",
    ),
    Situation(
        "slip of the pen",
        "one: {script: x, tags: [windows-shared]}\n",
        "one",
        "stuck",
        "No runner of this project has the tag windows-shared. Nearest is runner #{win} (win): "
        "it lacks windows-shared (it has windows-shared-1).",
        "Write windows-shared-1 in the job's `tags` if that is what is meant, or register one: "
        f"`perdure runner create --tag windows-shared`.{HOUR}",
        before=runner(("win", "windows-shared-1")),
    ),
    Situation(
        "tags on two runners",
        "one: {script: x, tags: [linux, gpu]}\n",
        "one",
        "stuck",
        "No runner of this project has all of the tags gpu, linux. Nearest is runner #{a} (a): it lacks gpu.",
        "Register a runner that has them, `perdure runner create --tag gpu --tag linux`, or change the job's "
        f"`tags`.{HOUR}",
        before=runner(("a", "linux"), ("b", "gpu")),
    ),
    Situation(
        "untagged",
        ONE,
        "one",
        "stuck",
        "The job has no tags, and no runner of this project takes such jobs. Nearest is runner #{shared} "
        "(a runner of tests): it takes no jobs without tags.",
        f"Give the job `tags`, or register a runner without: `perdure runner create`.{HOUR}",
        before=runner(run_untagged=False, tags=["linux"]),
    ),
    Situation(
        "unprotected ref",
        ONE,
        "one",
        "stuck",
        "The runners that fit take only jobs of protected refs, and this ref is not protected. Nearest is runner "
        "#{shared} (a runner of tests): it takes only jobs of protected refs.",
        f"Protect the ref, or register a runner for all refs: `perdure runner create`.{HOUR}",
        before=unprotected_ref,
    ),
    Situation(
        "paused",
        ONE,
        "one",
        "stuck",
        "The only runner that fits is paused. Nearest is runner #{shared} (a runner of tests): it is paused.",
        f"Resume it: `perdure runner resume {{shared}}`.{HOUR}",
        before=runner(paused=True),
    ),
    Situation(
        "paused and silent, beside another",
        GPU,
        "one",
        "stuck",
        "The only runner that fits is paused. Nearest is runner #{mini} (mini): it is paused and is offline.",
        f"Resume it: `perdure runner resume {{mini}}`; then start it again on its machine.{HOUR}",
        before=paused_and_silent,
    ),
    Situation(
        "offline",
        GPU,
        "one",
        "stuck",
        "The only runner that fits is offline: no call came for too long. Nearest is runner #{mini} (mini): "
        "it is offline.",
        f"Start it again on its machine; `perdure runner show {{mini}}` tells when it last called.{HOUR}",
        before=offline_runner,
    ),
    Situation(
        "instance runners off",
        ONE,
        "one",
        "stuck",
        "All runners belong to other projects.",
        "Let instance runners take this project's jobs, or register one for this project: "
        f"`perdure runner create`.{HOUR}",
        before=instance_runners_are_off,
    ),
    Situation(
        "busy",
        "first: {script: x}\none: {script: x}\n",
        "one",
        "runner",
        f"The one runner that fits and is there is busy; it is number 1 of 1 in the queue. {UNKNOWN}",
        "It starts by itself; another runner that fits would start it sooner.",
        take("first"),
    ),
    Situation(
        "third in the queue",
        "first: {script: x}\nsecond: {script: x}\none: {script: x}\nfour: {script: x}\n",
        "one",
        "runner",
        f"The one runner that fits and is there is free; it is number 3 of 4 in the queue. {UNKNOWN}",
        "It starts by itself.",
    ),
    Situation(
        "estimated",
        HISTORY,
        "one",
        "runner",
        "The one runner that fits and is there is free; it is number 1 of 1 in the queue. Of 6 such jobs of the last "
        "hour that had waited this long, half began within 10 min more, 19 of 20 within 10 min.",
        "It starts by itself.",
        history,
    ),
    Situation(
        "silent",
        ONE,
        "one",
        "silent",
        "Runner #{shared} (a runner of tests) has been silent for more than 90 s.",
        "It is given up when that lasts for 3 min, and retried if its `retry` says so.",
        silent,
    ),
)
