"""GitLab's REST resources and what becomes of each: writes the tables of `docs/rest.md`.

`python -m tests.docs.rest_table` writes them anew, from `api/v4/rest_resources.py`.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from api.v4.rest_resources import RESOURCES, State

PAGE: Final = Path(__file__).parents[2] / "docs" / "rest.md"
BEGIN: Final = "<!-- resources: made by `python -m tests.docs.rest_table` -->\n"
END: Final = "<!-- end of resources -->\n"

_LAST_COLUMN: Final = {
    State.SERVED: "",
    State.PART: "what is missing",
    State.OWN: "what it is",
    State.NOT: "why, or what to do instead",
}


def tables() -> str:
    """A section for each state."""
    return "\n".join(line for state in State for line in _section(state)) + "\n"


def _section(state: State) -> Iterator[str]:
    last = _LAST_COLUMN[state]
    yield from (f"## {state}", "", f"| resource | paths |{f' {last} |' if last else ''}")
    yield "|---" * (3 if last else 2) + "|"
    for resource in RESOURCES:
        if resource.state is state:
            paths = ", ".join(f"`{path}`" for path in resource.paths)
            yield f"| {resource.name} | {paths} |{f' {resource.words} |' if last else ''}"
    yield ""


def page(text: str) -> str:
    """The page with the tables of now between its marks."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{tables()}{END}{after}"


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text()))
