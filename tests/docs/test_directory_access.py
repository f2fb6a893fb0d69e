"""The table of `docs/pods.md` that says who may do what with a directory is the one that decides."""

from pathlib import Path

from domain.pods.directory_access import ALLOWED, Role

PAGE = Path(__file__).parents[2] / "docs" / "pods.md"


def test_the_page_has_the_table_that_decides() -> None:
    head = f"| what | {' | '.join(role.value for role in Role)} |"
    rows = [
        f"| {action.value} | {' | '.join(scopes[role].value if role in scopes else '-' for role in Role)} |"
        for action, scopes in ALLOWED.items()
    ]
    assert "\n".join([head, "|---|---|---|---|", *rows]) in PAGE.read_text()
