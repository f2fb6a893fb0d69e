"""Why a pipeline has no jobs: what every door says of one that no job explains."""

from domain.pipelines.status import Status
from domain.why.explanation import Explanation, Reason


def jobless(status: str, yaml_errors: str) -> Explanation:
    """Explain a pipeline without jobs; `faults` of the facts are what is wrong with its configuration."""
    facts = {"faults": yaml_errors.split("\n") if yaml_errors else []}
    if yaml_errors:
        text = "It could not be made: its configuration is not valid."
        return Explanation(Reason.FAILED, text, facts, "Correct these faults, commit and push again.")
    if status == Status.SKIPPED:
        text = "It was skipped: the push or the message of its commit asked for that."
        return Explanation(Reason.RULED_OUT, text, facts, "Run a new pipeline to have its jobs after all.")
    return Explanation(Reason.PIPELINE, f"It has no jobs, and is {status}.", facts, "Run a new pipeline.")
