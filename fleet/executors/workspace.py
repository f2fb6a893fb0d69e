"""Where one job runs and what it sees: folders, variables, environment, secrets. Nothing on disk is touched here."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from domain.steps.places import Place
from fleet.executors.files import HOME
from fleet.executors.rights import JobRights
from fleet.executors.sources import git_strategy, project_folder, read_remote
from fleet.executors.survivors import MARK
from fleet.features import RUNNER_NAME, architecture, runner_version
from fleet.job import Job, JobVariable
from fleet.variables import machine_environment, resolve, usable

CA_FILE: Final = "CI_SERVER_TLS_CA_FILE"


@dataclass(frozen=True, slots=True)
class Slot:
    """Where a job runs: `<builds_dir>/<short_token>/<number>/`; no two jobs have the same number at one time."""

    builds_dir: Path
    short_token: str
    number: int
    environment: tuple[tuple[str, str], ...] = ()
    """Variables of the runner's configuration; those of the job win."""
    rights: JobRights | None = None
    """Those of jobs; None for the runner's own."""
    steps: Place | None = None
    """Where steps of jobs run; None for here."""
    authority: str = ""
    """PEM of who signed the server's certificate, as the runner is told; empty for those that the machine knows."""


@dataclass(frozen=True, slots=True)
class Workspace:
    """The environment of one job; `files` are the file variables, `left_out` names no process can be given.

    Jobs that have rights of their own share their user with jobs of others: each has a home of its own, below the
    folder for temporary files, and what it leaves there is nobody's. Others have that of the runner's user.
    """

    project_dir: Path
    temp_dir: Path
    strategy: str
    variables: Mapping[str, str]
    files: Mapping[Path, str]
    environment: Mapping[str, str]
    bare_environment: Mapping[str, str]
    """The same without the variables of the job."""
    secrets: frozenset[str]
    left_out: tuple[str, ...]
    rights: JobRights | None = None

    @property
    def debug(self) -> bool:
        """Whether the job wants every command of bash traced (`CI_DEBUG_TRACE`)."""
        return self.variables.get("CI_DEBUG_TRACE", "").lower() in ("true", "1")


def make_workspace(job: Job, slot: Slot, mark: str) -> Workspace:
    """Work out a job's environment; raises Invalid for an unknown strategy or a path that leaves the slot."""
    given, left_out = usable([*(JobVariable(key, value) for key, value in slot.environment), *job.variables])
    strategy = git_strategy(job, {variable.key: variable.value for variable in given})
    project_dir = slot.builds_dir.resolve() / slot.short_token / str(slot.number) / project_folder(job, strategy)
    temp_dir = project_dir.with_name(project_dir.name + ".tmp")
    own = _own_variables(job, slot, project_dir, temp_dir)
    authority = [JobVariable(CA_FILE, slot.authority, file=True, raw=True)] if slot.authority else []
    own_variables = [*authority, *(JobVariable(key, value, raw=True) for key, value in own.items())]
    resolved = resolve([*given, *own_variables], temp_dir)
    remote = read_remote(job.git.repo_url)
    masked = [variable for variable in job.variables if variable.masked]
    secrets = {job.token, remote.password, *(variable.value for variable in masked)}
    for variable in masked:
        path = temp_dir / variable.key
        secrets.add(resolved.files.get(path) or resolved.values.get(variable.key, ""))
    for_git = remote.environment(str(temp_dir / CA_FILE) if authority else "")
    home = {"HOME": str(temp_dir / HOME)} if slot.rights is not None else {}
    bare = {**machine_environment(slot.rights), **home, **for_git, MARK: mark}
    return Workspace(
        project_dir=project_dir,
        temp_dir=temp_dir,
        strategy=strategy,
        variables=resolved.values,
        files=resolved.files,
        environment={**bare, **resolved.values, MARK: mark},
        bare_environment=bare,
        secrets=frozenset(secrets - {""}),
        left_out=tuple(left_out),
        rights=slot.rights,
    )


def _own_variables(job: Job, slot: Slot, project_dir: Path, temp_dir: Path) -> dict[str, str]:
    """What the runner itself adds (docs/reference/runner-protocol.md, "Job variables")."""
    return {
        "CI_BUILDS_DIR": str(slot.builds_dir.resolve()),
        "CI_PROJECT_DIR": str(project_dir),
        "CI_CONCURRENT_ID": str(slot.number),
        "CI_CONCURRENT_PROJECT_ID": str(slot.number),
        "CI_SERVER": "yes",
        "CI_JOB_STATUS": "running",
        "CI_JOB_TIMEOUT": str(job.timeout),
        "CI_RUNNER_SHORT_TOKEN": slot.short_token,
        "CI_RUNNER_VERSION": runner_version(),
        "CI_RUNNER_REVISION": f"{RUNNER_NAME}-{runner_version()}",
        "CI_RUNNER_EXECUTABLE_ARCH": f"linux/{architecture()}",
        "CI_SHARED_ENVIRONMENT": "true",
        "RUNNER_TEMP_PROJECT_DIR": str(temp_dir),
    }
