"""Plain keywords of a job, its own and those that it takes from `default`; and variables as they are written.

GitLab: "CI/CD YAML syntax reference", "default", "inherit", "variables".
"""

from typing import Any, Final

from tests.fuzz.valid.documents import flat
from tests.fuzz.valid.parts import LASTING
from tests.fuzz.valid.world import Document

OF_BRIDGES: Final = ("interruptible",)
"""What a job that triggers a pipeline takes from `default`."""


def variables_of(holder: Document) -> dict[str, tuple[str, bool]]:
    """Names to texts, and whether they are raw."""
    found = {}
    for name, value in holder.get("variables", {}).items():
        detailed = value if isinstance(value, dict) else {"value": value}
        found[name] = (str(detailed["value"]), detailed.get("expand") is False)
    return found


def texts_of(variables: dict[str, tuple[str, bool]]) -> dict[str, str]:
    """Only the texts of what `variables_of` gives: conditions see them as they are written."""
    return {name: text for name, (text, _) in variables.items()}


def what_it_takes(job: Document, rule: Document, root: Document) -> Document:
    """The keywords that nothing decides about but the job, `inherit` and `default`."""
    kept = job.get("inherit", {}).get("default", True)
    taken = {key: value for key, value in root.get("default", {}).items() if kept is True or (kept and key in kept)}
    if "trigger" in job:
        taken = {key: value for key, value in taken.items() if key in OF_BRIDGES}
    whole = {**taken, **job}
    return {
        "tags": tuple(whole.get("tags", ())),
        "interruptible": rule.get("interruptible", whole.get("interruptible")),
        "retry": _attempts(whole.get("retry", 0)),
        "timeout": LASTING[whole["timeout"]] if "timeout" in whole else None,
        "before_script": tuple(flat(whole.get("before_script", []), root)),
        "script": tuple(flat(whole.get("script", []), root)),
        "environment": _environment(job.get("environment")),
        "project": _project(job.get("trigger")),
    }


def _attempts(retry: Any) -> int:
    return int(retry["max"] if isinstance(retry, dict) else retry)


def _environment(given: Any) -> tuple[str, str, str] | None:
    if given is None:
        return None
    whole = {"name": given} if isinstance(given, str) else given
    return whole["name"], whole.get("action", "start"), whole.get("on_stop", "")


def _project(trigger: Any) -> str | None:
    return trigger if trigger is None or isinstance(trigger, str) else ""
