"""The variables of a job as its runner gets them.

Source: docs/reference/ci-yaml.md, "Variables"; docs/reference/runner-protocol.md, "Job variables".
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Protocol
from urllib.parse import urlsplit, urlunsplit

from application.jobs.registry import registry_variables
from application.pipelines.event_context import event_facts
from domain.variables.ci_variables import as_job_variable, chosen
from domain.variables.environment_variables import environment_variables
from domain.variables.job_variables import JobFacts, JobVariable, expand, predefined
from models.repositories.queue.hand_outs import HandOut
from settings import Settings

_NAMELESS: Final = " "
"""A name that no text can refer to."""


class JobRunner(Protocol):
    """The runner that has a job, as the job and its payload see it."""

    @property
    def id(self) -> int:
        """Its id."""

    @property
    def description(self) -> str:
        """Its description."""

    @property
    def tags(self) -> Sequence[str]:
        """Its tags."""

    @property
    def maximum_timeout(self) -> int | None:
        """The longest that it runs a job, in seconds; None without a limit."""


def job_variables(
    hand_out: HandOut, runner: JobRunner, token: str, settings: Settings, issued: tuple[JobVariable, ...] = ()
) -> tuple[JobVariable, ...]:
    """Every variable of a job, the later ones over the earlier, expanded once. Those of its environment win.

    The environment's name may use variables of every scope `*`; variables of that environment are added afterwards.

    `issued` are those with tokens of `id_tokens`.
    """
    plan, pipeline = hand_out.job.plan, hand_out.pipeline
    yaml = [JobVariable(key, item["value"], raw=item["raw"]) for key, item in plan.get("variables", {}).items()]
    dotenv = [_asked(item) for item in hand_out.dotenv]
    asked = [_asked(item) for item in [*pipeline.variables, *hand_out.job.variables]]
    of_registry = registry_variables(settings, token)
    given = (*predefined(_facts(hand_out, runner, token, settings)), *of_registry, *hand_out.deploy_variables)
    before = (*given, *yaml, *dotenv)
    everywhere = _of_owners(hand_out)
    known = (*before, *everywhere, *asked, *issued)
    environment = _of_environment(plan.get("environment"), known, hand_out)
    if environment and hand_out.ci_variables:
        known = (*before, *_of_owners(hand_out, environment[0].value), *asked, *issued)
    return expand((*known, *environment))


def _asked(item: Mapping[str, Any]) -> JobVariable:
    file = item.get("variable_type") == "file"
    return JobVariable(item["key"], item["value"], public=False, file=file, raw=bool(item.get("raw")))


def _of_owners(hand_out: HandOut, environment: str = "") -> list[JobVariable]:
    """Those of instance, groups and project; protected ones only for the pipelines of protected refs."""
    found = chosen(hand_out.ci_variables, protected=is_protected(hand_out), environment=environment)
    return [as_job_variable(variable) for variable in found]


def expanded_text(text: str, variables: Iterable[JobVariable]) -> str:
    """The text with the variables put in; names that nobody knows become empty."""
    return expand((*variables, JobVariable(_NAMELESS, text)))[-1].value if "$" in text or "%" in text else text


def variable_document(item: JobVariable) -> dict[str, Any]:
    """One variable in the form of the protocol."""
    return {
        "key": item.key,
        "value": item.value,
        "public": item.public,
        "masked": item.masked,
        "file": item.file,
        "raw": item.raw,
    }


def is_protected(hand_out: HandOut) -> bool:
    """Whether the pipeline runs on a protected ref."""
    return bool(hand_out.pipeline.ref_protected)


def repository_url(url: str, path: str, token: str) -> str:
    """Where a job fetches from, with its token as the password."""
    parts = urlsplit(url)
    return urlunsplit(parts._replace(netloc=f"gitlab-ci-token:{token}@{parts.netloc}", path=f"{parts.path}/{path}.git"))


def _of_environment(
    environment: Mapping[str, Any] | None, known: tuple[JobVariable, ...], hand_out: HandOut
) -> tuple[JobVariable, ...]:
    """The slug and the tier are those of the expanded name, so the name is expanded before all else.

    A job that says no address or tier itself, as one that stops or verifies, is told those that the environment has.
    """
    if not environment:
        return ()
    name = expanded_text(environment["name"], known)
    action = environment.get("action") or "start"
    tier = environment.get("deployment_tier") or hand_out.environment_tier
    written = environment.get("url", "")
    variables = environment_variables(name, written, action, tier)
    if written or not hand_out.environment_url:
        return variables
    return (*variables, JobVariable("CI_ENVIRONMENT_URL", hand_out.environment_url, raw=True))


def _facts(hand_out: HandOut, runner: JobRunner, token: str, settings: Settings) -> JobFacts:
    job, pipeline, project = hand_out.job, hand_out.pipeline, hand_out.project
    home = f"{settings.url}/{project.full_path}"
    event = event_facts(
        settings, pipeline, project, hand_out.user, pipeline.created_at, iid=pipeline.iid, name=pipeline.name
    )
    return JobFacts.of(
        event,
        pipeline_id=pipeline.id,
        pipeline_url=f"{home}/-/pipelines/{pipeline.id}",
        job_id=job.id,
        job_name=job.name,
        job_stage=job.stage_name,
        job_url=f"{home}/-/jobs/{job.id}",
        job_started_at=job.started_at,
        job_token=token,
        repository_url=repository_url(settings.url, project.full_path, token),
        runner_id=runner.id,
        runner_description=runner.description,
        runner_tags=tuple(runner.tags),
        is_manual=job.when in {"manual", "delayed"},
        node_index=job.plan.get("node_index"),
        node_total=job.plan.get("node_total"),
    )
