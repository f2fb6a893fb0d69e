"""The variables that a bridge sees, for its own texts and for what it hands down.

Source: docs/reference/ci-yaml.md, "Variables".
"""

from collections.abc import Mapping
from typing import Any

from application.pipelines.event_context import event_facts
from application.services import Services
from domain.config.plan import Variable
from domain.pipelines.bridges import Scope
from domain.variables.ci_variables import as_job_variable, chosen
from domain.variables.job_variables import JobVariable, group_name
from domain.variables.predefined import pipeline_variables, slug
from models.repositories.pipelines.bridges import Bridge


def scope_of(services: Services, bridge: Bridge) -> Scope:
    """All variables of a bridge."""
    job, pipeline = bridge.job, bridge.pipeline
    home = f"{services.settings.url}/{bridge.project.full_path}"
    facts = event_facts(
        services.settings,
        pipeline,
        bridge.project,
        bridge.user,
        pipeline.created_at,
        iid=pipeline.iid,
        name=pipeline.name,
    )
    predefined = {
        **pipeline_variables(facts),
        "CI_PIPELINE_ID": str(pipeline.id),
        "CI_PIPELINE_URL": f"{home}/-/pipelines/{pipeline.id}",
        "CI_JOB_ID": str(job.id),
        "CI_JOB_NAME": job.name,
        "CI_JOB_NAME_SLUG": slug(job.name),
        "CI_JOB_GROUP_NAME": group_name(job.name),
        "CI_JOB_STAGE": job.stage_name,
        "CI_JOB_URL": f"{home}/-/jobs/{job.id}",
    }
    yaml = job.plan.get("variables", {})
    return Scope(
        predefined=tuple(JobVariable(key, value, raw=True) for key, value in predefined.items()),
        yaml={key: Variable(item["value"], item["raw"]) for key, item in yaml.items()},
        dotenv=tuple(_asked(item) for item in bridge.dotenv),
        owners=tuple(as_job_variable(item) for item in chosen(bridge.ci_variables, protected=pipeline.ref_protected)),
        pipeline=tuple(_asked(item) for item in pipeline.variables),
        job=tuple(_asked(item) for item in job.variables),
    )


def document(variable: JobVariable) -> dict[str, Any]:
    """A variable of a downstream pipeline as it is stored."""
    kind = {"variable_type": "file"} if variable.file else {}
    return {"key": variable.key, "value": variable.value, **({"raw": True} if variable.raw else {}), **kind}


def expanded_inputs(scope: Scope, inputs: Any) -> Any:
    """Values of inputs with the variables in their texts put in."""
    if isinstance(inputs, str):
        return scope.expanded(inputs)[0] if "$" in inputs else inputs
    if isinstance(inputs, list):
        return [expanded_inputs(scope, item) for item in inputs]
    if isinstance(inputs, dict):
        return {key: expanded_inputs(scope, item) for key, item in inputs.items()}
    return inputs


def _asked(item: Mapping[str, Any]) -> JobVariable:
    is_file = item.get("variable_type") == "file"
    return JobVariable(item["key"], item["value"], public=False, file=is_file, raw=bool(item.get("raw", False)))
