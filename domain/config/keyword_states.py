"""What becomes of every keyword: each one that the compiler accepts has a state here, so none is ignored in silence."""

from collections.abc import Mapping
from typing import Final

RUNS: Final = "runs"
"""The keyword does what it says."""
CARRIED: Final = "validated and carried"
"""It is checked and kept with the pipeline; the run goes as it would without it."""

UNHOSTED: Final = "its folder is kept as an artifact; no pages are hosted yet, as a warning says"
"""What it publishes is made, and shown nowhere."""


def refusal(keyword: str) -> str:
    """Why a pipeline is not made although its configuration is right."""
    return f"{keyword} is valid, but this version of Perdure cannot run it yet"


def _rows(state: str, keywords: str) -> dict[str, str]:
    return dict.fromkeys(keywords.split(), state)


REFUSED: Final = ("dast_configuration", "identity")
"""Keywords without which a job would not be what was written; a pipeline that has one is not made."""

STATES: Final[Mapping[str, str]] = {
    **_rows(
        RUNS,
        "after_script allow_failure artifacts before_script cache coverage default dependencies environment except"
        " extends hooks id_tokens image include inherit inputs interruptible manual_confirmation needs only parallel"
        " publish release resource_group retry rules run script secrets services spec stage stages start_in tags"
        " timeout trigger variables when workflow",
    ),
    **_rows(CARRIED, "environment:kubernetes"),
    **_rows(UNHOSTED, "pages"),
    **{keyword: f"refused: {refusal(keyword)}" for keyword in REFUSED},
}
"""The state of every keyword at the top, in `default` and in a job; of a keyword's key where that differs."""
