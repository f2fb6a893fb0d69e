"""The situations of `test_why.py`. The words are written by hand, from what GitLab does in each (docs/reference)."""

from typing import Final

from tests.cli.remote.situations import Play, Situation, Steps

TWO_STAGES: Final = "stages: [build, test]\nbuild: {stage: build, script: x}\ncheck: {stage: test, script: x}\n"
NEEDED: Final = "build: {stage: build, script: x}\ncheck: {stage: test, script: x, needs: [build]}\n"
GATE: Final = "gate: {stage: build, script: x, when: manual, allow_failure: false}\nship: {stage: test, script: x}\n"
ONE: Final = "one: {script: x}\n"
GPU: Final = "one: {script: x, tags: [gpu]}\n"
DEPLOY: Final = "deploy: {script: x, resource_group: live}\n"
WAIT: Final = "It goes on by itself when they have ended."
HOUR: Final = " It fails when no runner could take it for 60 min."
RETRY: Final = "Retry the job."
LOG: Final = "Read the end of its log, mend what failed and push, or retry the job."
CLAUSE: Final = "or run a pipeline for which it lets the job in; `perdure plan` shows which."
UNKNOWN: Final = "How long it takes cannot be told: in the last hour too few such jobs waited this long."


def end(name: str, state: str = "success", **body: object) -> Steps:
    """A job ends."""
    return lambda play: play.end(name, state, **body)  # type: ignore[arg-type]


def take(*names: str) -> Steps:
    """Jobs are taken, and run."""

    async def steps(play: Play) -> None:
        for name in names:
            await play.take(name)

    return steps


def runner(*runners: tuple[str, ...], **values: object) -> Steps:
    """The runner that is there is changed, and others come."""

    async def steps(play: Play) -> None:
        await play.change_runner(**values)
        for name, *tags in runners:
            await play.runner(name, *tags)

    return steps


async def no_runner(play: Play) -> None:
    async with play.site.client(play.site.root) as client:
        assert (await client.delete(f"/api/v4/runners/{play.site.world.runner_id}")).status_code == 204


async def offline_runner(play: Play) -> None:
    await no_runner(play)
    await play.runner("mini", "gpu", online=False)


async def unprotected_ref(play: Play) -> None:
    await play.change_runner(ref_protected=True)
    await play.call("DELETE", "/protected_branches/main")


async def instance_runners_are_off(play: Play) -> None:
    await play.call("PUT", "", shared_runners_enabled=False)


async def second_deploy(play: Play) -> None:
    await play.next_of_group("deploy")
    await play.take("deploy")
    await play.begin(DEPLOY, "second")
    await play.begin(DEPLOY, "third")


async def held_by_another(play: Play) -> None:
    """The pipeline that is asked about is the second of three."""
    await second_deploy(play)
    play.ids["first"], play.ids["holder"] = play.ids["pipeline"], play.ids["deploy"]
    play.ids["pipeline"], play.ids["deploy"] = play.ids["second"], play.ids["deploy@second"]


async def held_by_one_before_another(play: Play) -> None:
    await held_by_another(play)
    play.ids["pipeline"], play.ids["deploy"] = play.ids["third"], play.ids["deploy@third"]


async def canceled_before(play: Play) -> None:
    await play.call("POST", f"/jobs/{play.ids['build']}/cancel")
    await play.go_on()


async def canceled_pipeline(play: Play) -> None:
    await play.call("POST", f"/pipelines/{play.ids['pipeline']}/cancel")
    await play.go_on()


async def history(play: Play) -> None:
    """Six jobs were taken that had waited nearly ten minutes; one more waits."""
    for number in range(6):
        await play.wait(f"old {number}", minutes=9.5)  # with what taking it takes, under ten
        await play.end(f"old {number}")


async def lost(play: Play) -> None:
    await play.take("one")
    await play.give_up("one", "runner_lost")


async def given_up_in_queue(play: Play) -> None:
    await play.wait("one", minutes=60)
    await play.give_up("one", "stuck_or_timeout_failure")


async def due(play: Play) -> None:
    row = await play.site.world.row(play.ids["slow"])
    play.ids["due"] = row.due_at.isoformat(timespec="seconds")


async def bridge_refused(play: Play) -> None:
    await play.give_up("down", "downstream_bridge_project_not_found")


async def silent(play: Play) -> None:
    await play.take("one")
    await play.silence()


async def failed_twice(play: Play) -> None:
    await play.end("one", "failed", failure_reason="runner_system_failure")
    await play.end("one", "failed", failure_reason="runner_system_failure")


HISTORY: Final = "".join(f"old {number}: {{stage: build, script: x}}\n" for number in range(6)) + (
    "one: {stage: test, script: x}\n"
)

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
        "It waits for stage build: slow (scheduled).",
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
SKIPPED: Final = (
    Situation(
        "after a failure",
        TWO_STAGES,
        "check",
        "ruled_out",
        "It was skipped because build failed.",
        "Retry build; if that succeeds, it gets another chance.",
        end("build", "failed"),
    ),
    Situation(
        "after a cancel",
        NEEDED,
        "check",
        "ruled_out",
        "It was skipped because build was canceled.",
        "Retry build; if that succeeds, it gets another chance.",
        canceled_before,
    ),
    Situation(
        "needs what was not played",
        "gate: {stage: build, script: x, when: manual}\ncheck: {stage: test, script: x, needs: [gate]}\n",
        "check",
        "ruled_out",
        "It was skipped because gate was not played.",
        "Play gate; then it gets another chance.",
    ),
    Situation(
        "nothing failed",
        "build: {stage: build, script: x}\nmend: {stage: test, script: x, when: on_failure}\n",
        "mend",
        "ruled_out",
        "It was skipped because nothing before it failed.",
        "Nothing is to be done: `when: on_failure` is for the case that something fails.",
        end("build"),
    ),
    Situation(
        "needs what was skipped",
        "build: {stage: build, script: x}\ncheck: {stage: test, script: x}\n"
        "ship: {stage: deploy, script: x, needs: [check]}\n",
        "ship",
        "ruled_out",
        "It was skipped because check was skipped.",
        "See why check was skipped: what lets that run lets this one run.",
        end("build", "failed"),
    ),
)
ABSENT: Final = (
    Situation(
        "no rule",
        f"{ONE}gone: {{script: x, rules: [{{if: $CI_COMMIT_TAG}}]}}\n",
        "gone",
        "absent",
        "It is not in this pipeline: no item of `rules` matched. Last looked at, `rules[0]` asked for "
        "`if: $CI_COMMIT_TAG`, which did not hold (CI_COMMIT_TAG is not set).",
        f"Change the clause at .gitlab-ci.yml:2, {CLAUSE}",
        absent=True,
    ),
    Situation(
        "never",
        f'{ONE}gone: {{script: x, rules: [{{if: $CI_COMMIT_BRANCH == "main", when: never}}]}}\n',
        "gone",
        "absent",
        "It is not in this pipeline: `rules[0]` matched, and it says `when: never`. Last looked at, `rules[0]` "
        'asked for `if: $CI_COMMIT_BRANCH == "main"`, which held (CI_COMMIT_BRANCH is "main").',
        f"Change the clause at .gitlab-ci.yml:2, {CLAUSE}",
        absent=True,
    ),
    Situation(
        "only tags",
        f"{ONE}gone: {{script: x, only: [tags]}}\n",
        "gone",
        "absent",
        "It is not in this pipeline: `only:refs` does not hold. Last looked at, `only:refs` asked for "
        "`refs: tags`, which did not hold (the pipeline is for branch main, source api).",
        f"Change the clause at .gitlab-ci.yml:2, {CLAUSE}",
        absent=True,
    ),
)
FAILED: Final = (
    Situation(
        "script", ONE, "one", "failed", "Its script failed with exit code 3.", LOG, end("one", "failed", exit_code=3)
    ),
    Situation(
        "allowed to fail",
        "one: {script: x, allow_failure: true}\n",
        "one",
        "failed",
        "Its script failed with exit code 1. It is allowed to fail, so the pipeline goes on.",
        LOG,
        end("one", "failed", exit_code=1),
    ),
    Situation(
        "timeout",
        "one: {script: x, timeout: 20 minutes}\n",
        "one",
        "failed",
        "It ran longer than its timeout of 20 min.",
        "Make it faster or split it, or raise its `timeout`; a runner's own limit may be lower.",
        end("one", "failed", failure_reason="job_execution_timeout"),
    ),
    Situation(
        "image",
        ONE,
        "one",
        "failed",
        "The image of the job or of a service could not be pulled.",
        "Check the name in `image` and `services`, and that the runner may read that registry; then retry the job.",
        end("one", "failed", failure_reason="image_pull_failure"),
    ),
    Situation(
        "lost runner",
        ONE,
        "one",
        "failed",
        "Runner #{shared} (a runner of tests) fell silent while it ran the job, and was given up after 3 min.",
        "Retry the job (`retry: {{max: 1, when: stuck_or_timeout_failure}}` does by itself); see whether the runner "
        "still runs.",
        lost,
    ),
    Situation(
        "waited in vain",
        GPU,
        "one",
        "failed",
        "No runner took it in the 60 min that it waited.",
        "See that a runner that fits is there and has time (`perdure runner queue`), then retry the job.",
        given_up_in_queue,
    ),
    Situation(
        "retried in vain",
        "one: {script: x, retry: 1}\n",
        "one",
        "failed",
        "The runner could not prepare or keep up what the job runs in.",
        "Retry the job; if it fails again, look at the runner: its log and the job's say more.",
        failed_twice,
    ),
    Situation(
        "no downstream project",
        "down: {trigger: nobody/nothing}\n",
        "down",
        "failed",
        "The downstream project does not exist, or whoever runs this job may not see it.",
        "Correct `trigger`, or let in whoever runs it; then retry.",
        bridge_refused,
    ),
    Situation(
        "downstream not made yet",
        "down: {trigger: nobody/nothing}\n",
        "down",
        "downstream",
        "It waits until its downstream pipeline is made.",
    ),
    Situation(
        "canceled",
        ONE,
        "one",
        "canceled",
        "It was canceled before a runner took it.",
        "Retry it to run it again.",
        canceled_pipeline,
    ),
)
SITUATIONS: Final = (*WAITING, *QUEUED, *SKIPPED, *ABSENT, *FAILED)
