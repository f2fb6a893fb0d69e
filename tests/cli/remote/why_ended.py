"""Jobs that were skipped, are not in the pipeline, failed or were canceled: situations of `test_why.py`.

The words are written by hand, from what GitLab does in each (docs/reference/pipelines.md, "When a job may start").
"""

from typing import Final

from tests.cli.remote.situations import Situation
from tests.cli.remote.why_steps import (
    bridge_refused,
    canceled_before,
    canceled_pipeline,
    end,
    failed_twice,
    given_up_in_queue,
    lost,
)

TWO_STAGES: Final = "stages: [build, test]\nbuild: {stage: build, script: x}\ncheck: {stage: test, script: x}\n"
NEEDED: Final = "build: {stage: build, script: x}\ncheck: {stage: test, script: x, needs: [build]}\n"
ONE: Final = "one: {script: x}\n"
GPU: Final = "one: {script: x, tags: [gpu]}\n"
LOG: Final = "Read the end of its log, mend what failed and push, or retry the job."
CLAUSE: Final = "or run a pipeline for which it lets the job in; `perdure plan` shows which."

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
        "short timeout",
        "one: {script: x, timeout: 5 seconds}\n",
        "one",
        "failed",
        "It ran longer than its timeout of 5 s.",
        "Make it faster or split it, or raise its `timeout`; a runner's own limit may be lower.",
        end("one", "failed", failure_reason="job_execution_timeout"),
    ),
    Situation(
        "retry for another failure",
        "one: {script: x, retry: {max: 2, when: runner_system_failure}}\n",
        "one",
        "failed",
        "Its script failed with exit code 1; its `retry` is for other failures.",
        LOG,
        end("one", "failed", exit_code=1),
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
        "Retry the job (`retry: {{max: 1, when: no_updates_running}}` does by itself); see whether the runner "
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
        "The runner could not prepare or keep up what the job runs in; it was attempt 2, the last that its `retry` "
        "allows.",
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
