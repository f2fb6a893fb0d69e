"""What was parsed already is the same as what is parsed anew, and it has an end."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from domain.config.compile import compile_config
from domain.config.plan import Plan
from domain.config.reading import source
from domain.config.reading.filled import Filled
from domain.config.reading.issues import Issues
from domain.config.reading.parsed_files import MAX_FILES, ParsedFiles
from domain.config.reading.source import Written
from domain.config.reading.tree import Items, Map
from domain.config.reading.yaml_text import parse
from domain.errors import ConfigInvalid, PipelineFiltered
from tests import cases
from tests.cases.config import compiled
from tests.compiling import plan_of
from tests.growth import assert_linear

CASES = Path(cases.__file__).parent
FILES = [CASES / "samples" / "config.jsonl", *sorted((CASES / "more").glob("*.jsonl"))]


def outcome(case: Mapping[str, Any], parsed: ParsedFiles | None) -> object:
    """The plan of a case, or what is said instead, to the last character."""
    try:
        return compiled(case, parsed)
    except ConfigInvalid as error:
        return error.issues
    except PipelineFiltered as error:
        return str(error), error.plan


def shape(value: object) -> object:
    """A value with the place of everything in it."""
    if isinstance(value, Map):
        inner = [(key, value.places[key], shape(one)) for key, one in value.items()]
        return type(value), value.place, len(value.places), inner
    if isinstance(value, Items):
        return type(value), value.place, tuple(value.places), [shape(one) for one in value]
    return type(value), value


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_case_is_the_same_with_what_was_parsed_before(path: Path) -> None:
    parsed = ParsedFiles()
    for line in path.read_text().splitlines():
        case = json.loads(line)
        anew = outcome(case, None)
        assert [outcome(case, parsed), outcome(case, parsed)] == [anew, anew], case["name"]


def test_nothing_that_is_kept_is_changed_by_compiling() -> None:
    parsed = ParsedFiles()
    for path in FILES:
        for line in path.read_text().splitlines():
            outcome(json.loads(line), parsed)
            before = shapes(parsed)
            outcome(json.loads(line), parsed)
            assert shapes(parsed) == before
            parsed.keep(0)


def shapes(parsed: ParsedFiles) -> list[object]:
    """All that is kept."""
    sources = [one if isinstance(one, Filled) else one.source for one in parsed._kept.values()]
    return [shape(one.root) for one in sources if one is not None]


def chain(length: int, jobs: int = 120) -> dict[str, str]:
    """Files of which each includes the next one."""
    return {
        f"f{n}.yml": f"include: f{n + 1}.yml\n"
        + "".join(f".j{n}-{k}: {{script: [a, b, c], variables: {{A: b, C: d}}}}\n" for k in range(jobs))
        for n in range(length)
    } | {f"f{length}.yml": "job: {script: x}\n"}


def test_a_chain_of_includes_costs_what_its_length_does() -> None:
    def work(length: int) -> Callable[[], object]:
        files = chain(length)
        return lambda: plan_of("include: f0.yml\n", files=files, parsed=ParsedFiles())

    assert_linear(work, 8)


def test_a_file_that_is_wrong_is_parsed_once_and_told_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    count = 0

    def counted(text: str, issues: Issues, file: str) -> Items:
        nonlocal count
        count += 1
        return parse(text, issues, file)

    monkeypatch.setattr(source, "parse", counted)
    parsed, told = ParsedFiles(), []
    for _ in range(2):
        with pytest.raises(ConfigInvalid) as caught:
            parsed.read("a: [\n", Issues("f.yml"))
        told.append(caught.value.issues)
    assert (count, told[0]) == (1, told[1])


def test_a_warning_is_told_each_time() -> None:
    text = "job: {script: x}\n---\nb: 1\n"
    parsed = ParsedFiles()
    warned = []
    for _ in range(2):
        plan = compile_config(text, parsed=parsed)
        assert isinstance(plan, Plan)
        warned.append(plan.warnings)
    assert warned[0] == warned[1] != ()


def test_one_text_under_two_names_has_the_places_of_each() -> None:
    parsed = ParsedFiles()
    found = [parsed.read("a: {b: 1}\n", Issues(name), name).root.places["a"].file for name in ("one", "two", "one")]
    assert found == ["one", "two", "one"]


def test_what_was_asked_for_longest_ago_is_forgotten_first() -> None:
    parsed = ParsedFiles()
    for name in ("a", "b", "a", "c"):
        parsed.read("a: [1, 2, 3]\n", Issues(name), name)
    one = parsed.size // 3
    parsed.keep(2 * one)
    assert [key.file for key in parsed._kept if isinstance(key, Written)] == ["a", "c"]
    parsed.keep(0)
    assert parsed.size == 0
    for number in range(MAX_FILES + 10):
        parsed.read(f"a: {number}\n", Issues("f"))
    assert len(parsed._kept) == MAX_FILES
