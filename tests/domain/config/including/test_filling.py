"""A file with inputs is filled in once for all rounds, and never taken for one that becomes something else."""

import json
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.config.compile import compile_config
from domain.config.context import Context
from domain.config.including import filling, include_loader
from domain.config.inputs.interpolation import interpolate
from domain.config.plan import Variable
from domain.config.reading import parsed_files, source
from domain.config.reading.filled import Filled, exact
from domain.config.reading.parsed_files import LASTING_BYTES, ParsedFiles
from domain.config.reading.tree import Items, Map
from domain.config.sources import Answer, Fetched, LocalFile, Origin, Wanted
from domain.errors import ConfigInvalid
from tests.compiling import plan_of
from tests.domain.config.including.include_world import World
from tests.domain.config.reading.test_parsed_files import shape

TAKES = "spec: {inputs: {a: {type: string, default: ''}}}\n---\n"
TAKES_LIST = "spec: {inputs: {a: {type: array, default: []}}}\n---\n"
USES = "a: {script: 'x $[[ inputs.a ]]', variables: {A: '$[[ inputs.a ]]'}, before_script: ['$[[ inputs.a ]]']}\n"
STRING = TAKES + USES
GIVEN = "include: {local: f.yml, inputs: {a: %s}}"


def outcome(world: World, text: str, parsed: ParsedFiles | None) -> object:
    """All that can be seen of a load, with places and the variables that were read; or all that is wrong."""
    world.parsed, world.reads = parsed, set()
    try:
        loaded = world.load(text)
    except ConfigInvalid as error:
        return error.issues, world.reads
    return shape(loaded.root), loaded.includes, world.reads


def variables(**values: str) -> Mapping[str, Variable]:
    return {name: Variable(value) for name, value in values.items()}


EXPANDS = STRING.replace("inputs.a ]]", "inputs.a | expand_vars ]]")
SHARES = "spec: {include: shared.yml}\n---\n" + USES
COMPONENT = (
    "spec: {component: [name, sha, version]}\n---\na: {script: '$[[ component.version ]] $[[ component.name ]]'}"
)


def _lists(one: str, other: str) -> tuple[tuple[World, str], ...]:
    world = World({"f.yml": TAKES_LIST + USES})
    return (world, GIVEN % one), (world, GIVEN % other)


def _texts(one: str, other: str) -> tuple[tuple[World, str], ...]:
    world = World({"f.yml": STRING})
    return (world, GIVEN % one), (world, GIVEN % other)


def _with(files: Mapping[str, str], one: Context, other: Context) -> tuple[tuple[World, str], ...]:
    return tuple((World(files, context), GIVEN % "'$B $C'") for context in (one, other))


def _project(**values: str) -> Context:
    return Context(project=variables(**values))


MASKED = Context(project=variables(B="b", C="c"), masked=frozenset({"C"}))
PAIRS: Mapping[str, tuple[tuple[World, str], ...]] = {
    "another value": _texts("b", "c"),
    "text and a mapping": _texts("'1'", "{b: 1}"),
    "a number and true": _lists("[1]", "[true]"),
    "numbers of two types": _lists("[1]", "[1.0]"),
    "zeros of two signs": _lists("[0.0]", "[-0.0]"),
    "nothing and text": _lists("[null]", "['']"),
    "another order": _lists("[{b: 1, c: 1}]", "[{c: 1, b: 1}]"),
    "other depths": _lists("[[b], c]", "[[b, c]]"),
    "another place of a list": _lists("[  b]", "  [b]"),
    "another place of an element": _lists("[b]", "[ b]"),
    "another place of text that is a list": (
        (World({"f.yml": TAKES_LIST + USES}), GIVEN % "'[1]'"),
        (World({"f.yml": TAKES_LIST + USES}), (GIVEN % "'[1]'").replace("a:", " a:")),
    ),
    "another text of the file": ((World({"f.yml": STRING}), GIVEN % "b"), (World({"f.yml": EXPANDS}), GIVEN % "b")),
    "another name of the file": (
        (World({"f.yml": STRING}), GIVEN % "b"),
        (World({"g.yml": STRING}), (GIVEN % "b").replace("f.yml", "g.yml")),
    ),
    "another value of a variable": _with({"f.yml": EXPANDS}, _project(B="b"), _project(B="c")),
    "another variable is there": _with({"f.yml": EXPANDS}, _project(B="b"), _project(B="b", C="c")),
    "a variable that names another": _with({"f.yml": EXPANDS}, _project(B="$C"), _project(B="$D", C="$D", D="d")),
    "a variable that is masked": _with({"f.yml": EXPANDS}, _project(B="b", C="c"), MASKED),
    "another file of shared inputs": tuple(
        (World({"f.yml": SHARES, "shared.yml": f"inputs: {{a: {{default: {value}}}}}"}), "include: f.yml")
        for value in "bc"
    ),
    "a file of shared inputs that is missing": (
        (World({"f.yml": SHARES, "shared.yml": "inputs: {a: {default: b}}"}), "include: f.yml"),
        (World({"f.yml": SHARES}), "include: f.yml"),
    ),
    "an input that nobody declares": (
        (World({"f.yml": STRING}), GIVEN % "b"),
        (World({"f.yml": STRING}), (GIVEN % "b").replace("}", ", b: c}", 1)),
    ),
    "other inputs of a pipeline": tuple(
        (World({}, Context(inputs={"a": value})), TAKES_LIST + USES) for value in ([1], [True])
    ),
    "another version of a component": tuple(
        (World({f"h/g/p/n@{version}": COMPONENT}), f"include: {{component: h/g/p/n@{version}}}") for version in (1, 2)
    ),
}


@pytest.mark.parametrize("name", PAIRS)
def test_what_was_filled_in_for_one_is_not_taken_for_another(name: str) -> None:
    one, other = PAIRS[name]
    anew = [outcome(*one, None), outcome(*other, None)]
    assert repr(anew[0]) != repr(anew[1])
    for first, second, told in ((one, other, anew), (other, one, anew[::-1])):
        parsed = ParsedFiles()
        found = [outcome(*each, parsed) for each in (first, second, first, second)]
        assert repr(found) == repr(told * 2)  # zeros of two signs are equal


def test_facts_of_a_component_decide_under_one_name_too() -> None:
    """An address is one name, and a moved tag another commit."""

    class Moved(World):
        sha = "1"

        def answer(self, request: object) -> Answer:
            return Fetched(COMPONENT, Origin("g/p", self.sha), self.sha, self.sha, "n", "1")

    world, text, parsed = Moved({}), "include: {component: h/g/p/n@1}", ParsedFiles()
    found = []
    for world.sha in ("1", "2", "1"):
        job = outcome(world, text, parsed)
        assert job == outcome(world, text, None)
        found.append(job)
    assert found[0] == found[2] != found[1]


def chain(length: int) -> dict[str, str]:
    """Files of which each includes the next one, with other values for its inputs."""
    head = "spec: {inputs: {a: {default: x}, b: {type: array, default: []}}}\n---\n"
    jobs = "".join(f".j%-{job}: {{script: [a, '$[[ inputs.a ]]'], tags: '$[[ inputs.b ]]'}}\n" for job in range(10))
    include = "include: {local: f%.yml, inputs: {a: '$[[ inputs.a ]].', b: ['%']}}\n"
    return {
        f"f{number}.yml": head + include.replace("%", str(number + 1)) + jobs.replace("%", str(number))
        for number in range(length)
    } | {f"f{length}.yml": head + "job: {script: x}\n"}


def test_a_chain_of_files_with_inputs_reads_and_fills_in_what_its_length_is(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []
    for module, name in ((source, "parse"), (filling, "read_header"), (filling, "interpolate")):

        def counted(subject: Any, *args: Any, work: Any = getattr(module, name), **named: Any) -> Any:
            read.append(len(subject) if isinstance(subject, str) else len(repr(subject)))
            return work(subject, *args, **named)

        monkeypatch.setattr(module, name, counted)
    characters = []
    for length in (8, 16, 32, 64):
        files = chain(length)
        read.clear()
        plan_of("include: {local: f0.yml, inputs: {a: y}}\n", files=files, parsed=ParsedFiles())
        assert len(read) <= 3 * len(files) + 1
        characters.append(sum(read))
    assert all(large <= 2.3 * small for small, large in pairwise(characters))


def test_the_main_file_and_shared_inputs_are_filled_in_once(monkeypatch: pytest.MonkeyPatch) -> None:
    count = 0

    def counted(*args: Any, **named: Any) -> Map:
        nonlocal count
        count += 1
        return interpolate(*args, **named)

    monkeypatch.setattr(filling, "interpolate", counted)
    files = {"a.yml": SHARES + "include: b.yml", "b.yml": "include: c.yml", "c.yml": "c: {script: x}"}
    files["shared.yml"] = "inputs: {a: {default: b}}"
    plan_of(TAKES + USES + "include: a.yml", files=files, parsed=ParsedFiles())
    assert count == 2


def test_values_count_against_the_limit_whether_they_were_kept_or_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(include_loader, "MAX_VALUES", 1_000)
    many = f"spec: {{inputs: {{a: {{type: array, default: [{'b, ' * 90}]}}}}}}\n---\na: {{script: '$[[ inputs.a ]]'}}\n"
    parsed, world = ParsedFiles(), World({"f.yml": many})
    for times, is_told in ((10, False), (11, True)):
        text = "include: [" + "f.yml, " * times + "]"
        found = [outcome(world, text, kept) for kept in (None, parsed, parsed)]
        assert ("hold more than 1,000 values together" in str(found[0])) == is_told
        assert found[0] == found[1] == found[2]


def _script(of: Filled) -> str:
    """The script of the job `a` of a file."""
    job = of.root["a"]
    assert isinstance(job, Map)
    script = job["script"]
    assert isinstance(script, str)
    return script


def test_what_was_filled_in_takes_its_part_of_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parsed_files, "MAX_BYTES", 40_000_000)
    parsed = ParsedFiles()
    long = "spec: {inputs: {a: {default: ''}}}\n---\na: {script: '$[[ inputs.a ]]b'}\n"
    for number in range(20):
        value = f"{number}" * 500_000
        loaded = compile_config(GIVEN % value, Context(), {LocalFile("f.yml"): Fetched(long)}, parsed=parsed)
        assert not isinstance(loaded, Wanted)
    filled = [one for one in parsed._kept.values() if isinstance(one, Filled)]
    made = [_script(one) for one in filled]
    assert 8 < len(made) < 20
    assert sum(map(len, made)) * 3 <= parsed.size <= 40_000_000  # its text, the value, and what it becomes
    parsed.keep(LASTING_BYTES)
    assert 0 < len(parsed._kept) < 20
    assert parsed.size <= LASTING_BYTES


JSON = st.recursive(
    st.sampled_from([None, True, False, 0, 1, 0.0, -0.0, 1.0, "", "1", "a"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "b", "1"]), inner, max_size=3),
    max_leaves=6,
)


def told_apart(value: Any) -> str:
    """Everything that a value is."""
    return json.dumps(value)


@given(JSON, JSON)
def test_values_are_equal_only_if_they_are_the_same(one: Any, other: Any) -> None:
    one, other = json.loads(told_apart(one)), json.loads(told_apart(other))  # nothing is shared
    assert (exact([one]) == exact([other])) == (told_apart(one) == told_apart(other))


def test_what_is_no_json_is_equal_to_nothing() -> None:
    assert exact([{1: "a"}]) is exact([b"a"]) is exact([[object()]]) is None


def test_aliases_multiply_nothing_in_what_is_compared() -> None:
    value: Any = Items()
    for _ in range(60):
        value = Items(elements=[(value, value.place), (value, value.place)])
    assert len(exact([value]) or ()) == 62


def test_values_of_any_depth_are_compared() -> None:
    value: Any = []
    for _ in range(10_000):
        value = [value]
    assert len(exact([value]) or ()) == 10_002
