"""Links between the pages: every page is reached from the README, and every link leads somewhere."""

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "docs").rglob("*.md"))
READ = [*sorted(ROOT.glob("*.md")), *PAGES]
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#{1,6} (.+)$", re.MULTILINE)


def _prose(page: Path) -> str:
    """The text without blocks of code, in which a bracket is no link and a `#` no heading."""
    return re.sub(r"^```.*?^```|^ {4,}\S[^\n]*$", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)


def _links(page: Path) -> Iterator[tuple[Path, str]]:
    """Files that a page leads to, and the anchors in them."""
    for address in _LINK.findall(re.sub(r"`[^`\n]*`", "", _prose(page))):
        if not re.match(r"[a-z]+:", address):
            path, _, anchor = address.partition("#")
            yield (page.parent / path).resolve() if path else page, anchor


def anchors(page: Path) -> set[str]:
    """What GitLab and GitHub call the headings of a page."""
    found: set[str] = set()
    for heading in _HEADING.findall(_prose(page)):
        text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
        name = re.sub(r"[^\w\- ]", "", text).replace(" ", "-")
        count = sum(re.fullmatch(rf"{re.escape(name)}(-\d+)?", other) is not None for other in found)
        found.add(f"{name}-{count}" if count else name)
    return found


def test_every_page_is_reached_from_the_readme() -> None:
    reached = {target for target, _ in _links(ROOT / "README.md")}
    missing = [page.name for page in PAGES if page.parent.name != "decisions" and page not in reached]
    assert missing == []


def test_every_link_leads_to_a_file_and_a_heading() -> None:
    wrong = []
    for page in READ:
        for target, anchor in _links(page):
            if not target.exists():
                wrong.append(f"{page.name}: there is no {target.relative_to(ROOT)}")
            elif anchor and anchor not in anchors(target):
                wrong.append(f"{page.name}: {target.name} has no heading #{anchor}")
    assert wrong == []


def test_headings_are_named_as_forges_do() -> None:
    assert {"the-same-by-rest", "sign-in-at-your-identity-provider"} <= anchors(ROOT / "docs" / "users-and-groups.md")
    assert "gitlab-ciyml-in-perdure" in anchors(ROOT / "docs" / "ci-yaml.md")
