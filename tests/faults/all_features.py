"""A project whose pipeline has 200 jobs and every feature of the engine; each job says itself how it ends."""

from collections.abc import Iterable

STAGES = ("build", "test", "gates", "deploy", "downstream", "last", "end")

CHILD_JOBS = 10


def files() -> dict[str, str]:
    """The files of the project."""
    return {".gitlab-ci.yml": parent(), "child.yml": child()}


def parent() -> str:
    """The configuration."""
    head = [f"stages: [{', '.join(STAGES)}]", "default: {interruptible: true}"]
    return "\n".join([*head, *_wide(), *_troubled(), *_gates(), *_deployments(), *_bridges(), *_failing()]) + "\n"


def child() -> str:
    """The configuration of the child pipeline."""
    jobs = (f"child {number}: {_job('ok' if number else '1 ok', 'retry: 1, ')}" for number in range(CHILD_JOBS))
    return "\n".join(jobs) + "\n"


def _job(play: str = "", more: str = "") -> str:
    variables = f"variables: {{PLAY: '{play}'}}, " if play else ""
    return f"{{{more}{variables}script: ['true']}}"


def _wide() -> Iterable[str]:
    """Stages, needs within and across stages, an array of parallel jobs."""
    yield f"array: {_job(more='stage: build, parallel: 30, ')}"
    for number in range(40):
        yield f"build {number}: {_job(more='stage: build, ')}"
    for number in range(40):
        needs = f"needs: ['build {number}', 'build {(number + 1) % 40}'], "
        yield f"test {number}: {_job(more=f'stage: test, {needs}')}"
    for number in range(30):
        yield f"chain {number}: {_job(more=f'stage: test, needs: [{_before(number)}], ')}"


def _before(number: int) -> str:
    return f"'chain {number - 3}'" if number >= 3 else "'build 0'"


def _troubled() -> Iterable[str]:
    """Failures that are tried again, allowed, or allowed for their exit code."""
    for number in range(8):
        yield f"flaky {number}: {_job('1 ok', 'stage: test, retry: 1, ')}"
        yield f"allowed {number}: {_job('1', 'stage: test, allow_failure: true, ')}"
        yield f"code {number}: {_job('42', 'stage: test, allow_failure: {exit_codes: [42]}, ')}"
    for number in range(4):
        yield f"by code {number}: {_job('7 7 ok', 'stage: test, retry: {max: 2, exit_codes: [7]}, ')}"


def _gates() -> Iterable[str]:
    """Manual jobs that are played, some that are not, and delayed ones."""
    for number in range(5):
        yield f"play {number}: {_job(more='stage: gates, when: manual, allow_failure: false, ')}"
        yield f"left alone {number}: {_job(more='stage: gates, when: manual, ')}"
        yield f"later {number}: {_job(more='stage: gates, when: delayed, start_in: 2 seconds, ')}"


def _deployments() -> Iterable[str]:
    """Environments, some with a job that stops them, and jobs that may only run one at a time."""
    for number in range(6):
        place = f"environment: {{name: site/{number}, on_stop: 'stop {number}'}}, "
        yield f"deploy {number}: {_job(more=f'stage: deploy, {place}')}"
        stop = f"environment: {{name: site/{number}, action: stop}}, when: manual, "
        yield f"stop {number}: {_job(more=f'stage: deploy, {stop}')}"
        turn = "stage: deploy, retry: 1, resource_group: line, "
        yield f"in turn {number}: {_job('ok' if number else '1 ok', turn)}"


def _bridges() -> Iterable[str]:
    for strategy in ("depend", ""):
        wait = f", strategy: {strategy}" if strategy else ""
        yield f"bridge {strategy or 'alone'}: {{stage: downstream, trigger: {{include: [{{local: child.yml}}]{wait}}}}}"


def _failing() -> Iterable[str]:
    """A chain that fails: what follows is skipped, but for what runs on a failure or always."""
    yield f"broken: {_job('1', 'stage: last, retry: 1, ')}"
    yield f"follows broken: {_job(more='stage: last, needs: [broken], ')}"
    yield f"rescue: {_job(more='stage: last, needs: [broken], when: on_failure, ')}"
    yield f"spared: {_job(more='stage: end, ')}"
    yield f"alarm: {_job(more='stage: end, when: on_failure, ')}"
    yield f"report: {_job(more='stage: end, when: always, ')}"
