"""`environment:on_stop`: the job that takes an environment down. Source: docs/reference/ci-yaml.md, "Job keywords"."""

from collections.abc import Sequence

from domain.config.job import JobDraft
from domain.config.reading.issues import Issues
from domain.config.reading.spelling import nearest


def check_on_stop(drafts: Sequence[JobDraft], issues: Issues) -> None:
    """Note every job whose `on_stop` names no job that stops its environment."""
    asking = [draft for draft in drafts if draft.environment and draft.environment.on_stop]
    by_name = {draft.name: draft for draft in drafts} if asking else {}
    for draft in asking:
        fault = _fault(draft, by_name)
        if fault:
            path = f"jobs:{draft.name}:environment:on_stop"
            issues.add(f"{draft.name} job: {fault}", path, draft.places.get("environment", draft.place))


def _fault(draft: JobDraft, by_name: dict[str, JobDraft]) -> str:
    assert draft.environment is not None
    name = draft.environment.on_stop
    if name not in by_name:
        return f"on_stop job {name} is not defined{nearest([name], by_name)}"
    stopping = by_name[name].environment
    if stopping is None:
        return f"on_stop job {name} does not have environment defined"
    if stopping.name != draft.environment.name:
        return f"on_stop job {name} have different environment name"
    if stopping.action != "stop":
        return f"on_stop job {name} needs to have action stop defined"
    return ""
