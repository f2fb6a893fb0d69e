"""Writes the table of keywords into `docs/ci-yaml.md`: `python -m tests.docs.keyword_table`."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from domain.config import keywords
from domain.config.inputs import header, input_spec
from domain.config.keyword_states import STATES

PAGE: Final = Path(__file__).parents[2] / "docs" / "ci-yaml.md"
BEGIN: Final = "<!-- keywords: made by `python -m tests.docs.keyword_table` -->\n"
END: Final = "<!-- end of keywords -->\n"

KEYS: Final[Mapping[str, frozenset[str]]] = {
    "allow_failure": keywords.ALLOW_FAILURE,
    "artifacts": keywords.ARTIFACTS,
    "artifacts:reports": keywords.REPORTS,
    "cache": keywords.CACHE,
    "cache:key": keywords.CACHE_KEY,
    "default": keywords.DEFAULT,
    "environment": keywords.ENVIRONMENT,
    "except": keywords.FILTER,
    "hooks": keywords.HOOKS,
    "id_tokens:*": keywords.ID_TOKEN,
    "image": keywords.IMAGE,
    "image:docker": keywords.IMAGE_DOCKER,
    "image:kubernetes": keywords.IMAGE_KUBERNETES,
    "include:rules": keywords.INCLUDE_RULE,
    "inherit": keywords.INHERIT,
    "inputs:*": input_spec.JOB_INPUT,
    "needs": keywords.NEED,
    "only": keywords.FILTER,
    "pages": keywords.PAGES,
    "parallel": keywords.PARALLEL,
    "release": keywords.RELEASE,
    "retry": keywords.RETRY,
    "rules": keywords.RULE,
    "rules:changes": keywords.RULE_CHANGES,
    "rules:exists": keywords.RULE_EXISTS,
    "services": keywords.SERVICE,
    "spec": header.SPEC,
    "spec:inputs:*": input_spec.INPUT,
    "trigger": keywords.TRIGGER,
    "trigger:forward": keywords.FORWARD,
    "workflow": keywords.WORKFLOW,
    "workflow:auto_cancel": keywords.AUTO_CANCEL,
    "workflow:rules": keywords.WORKFLOW_RULE,
}
"""The keys of keywords that may be mappings; `*` stands for any name."""


def table() -> str:
    """Every keyword: where it stands, its state, its keys."""
    lines = ["| keyword | where | state | keys |", "|---|---|---|---|"]
    for keyword in sorted(STATES.keys() | KEYS.keys()):
        keys = ", ".join(f"`{key}`" for key in sorted(KEYS.get(keyword, ())))
        lines.append(f"| `{keyword}` | {_where(keyword)} | {_state(keyword)} | {keys} |")
    return "\n".join(lines) + "\n"


def page(text: str) -> str:
    """The page with the table of now between its marks."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{table()}\n{END}{after}"


def _where(keyword: str) -> str:
    places = {
        "top": keywords.TOP,
        "`default`": keywords.DEFAULT,
        "job": keywords.JOB,
        "trigger job": keywords.BRIDGE,
    }
    return ", ".join(name for name, words in places.items() if keyword in words)


def _state(keyword: str) -> str:
    """Its own state, or that of the keyword that it is a part of."""
    parts = keyword.split(":")
    known = (":".join(parts[:count]) for count in range(len(parts), 0, -1))
    return next(STATES[name] for name in known if name in STATES)


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text()))
