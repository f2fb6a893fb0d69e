"""`docs/requirements.md`: numbers without a gap, states that are known, modules and tests that exist."""

import ast
import re
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "requirements.md"
STATES = {"done", "partly", "open"}
_ROW = re.compile(r"^\| R(\d+)\.(\d+) \|", re.MULTILINE)


@dataclass(frozen=True)
class Requirement:
    """One row of the page. `modules` and `tests` are paths from the root; a test may be `path::function`."""

    chapter: int
    number: int
    text: str
    state: str
    modules: tuple[str, ...]
    tests: tuple[str, ...]
    missing: str

    @property
    def name(self) -> str:
        return f"R{self.chapter}.{self.number}"


def requirements(page: str) -> list[Requirement]:
    """The rows of the tables, in order."""
    found = []
    for line in page.splitlines():
        if match := _ROW.match(line):
            cells = [cell.strip() for cell in line.strip().removeprefix("|").removesuffix("|").split("|")]
            _, text, state, modules, tests, missing = cells
            paths = tuple(re.findall(r"`([^`]+)`", modules)), tuple(re.findall(r"`([^`]+)`", tests))
            found.append(Requirement(int(match[1]), int(match[2]), text, state, *paths, missing))
    return found


REQUIREMENTS = requirements(PAGE.read_text())
EACH = pytest.mark.parametrize("requirement", REQUIREMENTS, ids=lambda one: one.name)


def faults_of_numbers(found: list[Requirement]) -> list[str]:
    """Numbers that are doubled, missing or out of order."""
    chapters = sorted({one.chapter for one in found})
    faults = [] if chapters == list(range(len(chapters))) else [f"chapters are {chapters}"]
    for chapter in chapters:
        numbers = [one.number for one in found if one.chapter == chapter]
        if numbers != list(range(1, len(numbers) + 1)):
            faults.append(f"R{chapter}: {numbers}")
    return faults


def names_of_tests(path: Path) -> set[str]:
    """The names of the test functions of a file."""
    tree = ast.parse(path.read_text())
    functions = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    return {function.name for function in functions if function.name.startswith("test_")}


def test_the_numbers_have_no_gap_and_none_is_doubled() -> None:
    assert len({one.chapter for one in REQUIREMENTS}) == 4
    assert faults_of_numbers(REQUIREMENTS) == []


@pytest.mark.parametrize("numbers", [(1, 3), (1, 1, 2), (2, 1)])
def test_a_gap_and_a_double_are_noticed(numbers: tuple[int, ...]) -> None:
    rows = "\n".join(f"| R0.{number} | Something. | open | | | |" for number in numbers)
    assert faults_of_numbers(requirements(rows))


@EACH
def test_the_state_is_known_and_shown(requirement: Requirement) -> None:
    assert requirement.text
    assert requirement.state in STATES
    is_shown = bool(requirement.modules) and bool(requirement.tests)
    assert is_shown == (requirement.state != "open")
    assert bool(requirement.missing) == (requirement.state == "partly")


@EACH
def test_modules_exist(requirement: Requirement) -> None:
    assert [path for path in requirement.modules if not (ROOT / path).is_file()] == []


@EACH
def test_tests_exist(requirement: Requirement) -> None:
    for test in requirement.tests:
        path, _, function = test.partition("::")
        assert path.startswith("tests/")
        assert (ROOT / path).is_file(), path
        functions = names_of_tests(ROOT / path)
        assert functions, f"{path} has no test"
        assert not function or function in functions, test
