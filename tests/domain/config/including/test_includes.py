"""Files are merged in their order, with their inputs."""

from textwrap import dedent

import pytest

from domain.config.context import Context
from domain.config.including.includes import expand
from domain.config.plan import Variable
from domain.config.reading.budget import Budget
from domain.config.reading.issues import Issues
from domain.config.reading.source import read
from domain.config.reading.tree import Items, Map, Place, Value
from domain.config.sources import HERE, LocalFile, ProjectFile, Sources, Tree
from tests.domain.config.including.include_world import JOB, World


def plain(value: Value) -> object:
    """A value without places, with its keys in order."""
    if isinstance(value, Map):
        return [(key, plain(each)) for key, each in value.items()]
    return [plain(each) for each in value] if isinstance(value, Items) else value


class TestMerge:
    def test_a_file_that_includes_nothing_comes_back_as_it_is(self) -> None:
        issues = Issues("ci.yml")
        source = read(JOB, issues)
        loaded = expand(source, Context(), Sources(), issues, Budget(0, issues), set())
        assert loaded.root is source.root
        assert loaded.includes == ()

    @pytest.mark.parametrize("include", ["null", "[]"])
    def test_the_key_is_dropped(self, include: str) -> None:
        assert World({}).keys(f"include: {include}\n{JOB}") == ["a"]

    def test_later_files_win_and_the_main_file_over_all(self) -> None:
        world = World(
            {
                "one.yml": "a: {script: one, tags: [one, x], variables: {A: one, B: one, C: one}}",
                "two.yml": "a: {script: two, tags: [two], variables: {B: two, C: two}}",
            }
        )
        root = world.load("include: [one.yml, two.yml]\na: {script: main, variables: {C: main}}").root
        assert root == {
            "a": {"script": "main", "tags": ["two"], "variables": {"A": "one", "B": "two", "C": "main"}},
        }

    def test_null_replaces(self) -> None:
        assert World({"one.yml": "a: {tags: [x]}"}).load("include: one.yml\na: {tags: null}").root == {
            "a": {"tags": None}
        }

    def test_an_including_file_lies_over_its_own_includes_only(self) -> None:
        world = World(
            {
                "one.yml": "include: [deep.yml]\nv: {A: one, B: one}",
                "deep.yml": "v: {A: deep, B: deep, C: deep}",
                "two.yml": "v: {B: two}",
            }
        )
        assert world.load("include: [one.yml, two.yml]").root == {"v": {"A": "one", "B": "two", "C": "deep"}}
        assert world.load("include: [two.yml, one.yml]").root == {"v": {"A": "one", "B": "one", "C": "deep"}}

    def test_the_same_file_may_come_twice(self) -> None:
        world = World({"one.yml": "v: {A: one}", "two.yml": "v: {A: two}"})
        loaded = world.load("include: [one.yml, two.yml, one.yml]")
        assert loaded.root == {"v": {"A": "one"}}
        assert [included.location for included in loaded.includes] == ["one.yml", "two.yml", "one.yml"]

    def test_files_are_not_changed_by_merging(self) -> None:
        world = World({"one.yml": "v: {A: one}", "two.yml": "include: one.yml\nv: {B: two}"})
        assert world.load("include: [two.yml, one.yml]\nv: {C: main}").root == {
            "v": {"A": "one", "B": "two", "C": "main"}
        }

    def test_everything_knows_its_file_and_line(self) -> None:
        world = World({"ci/one.yml": "a:\n  script: one\n  tags: [t]"})
        job = world.load("include: ci/one.yml\na:\n  script: main").root["a"]
        assert isinstance(job, Map)
        assert (job.places["script"], job.places["tags"]) == (Place(3, 3), Place(3, 3, "ci/one.yml"))


def test_merged_keys_keep_the_order_of_the_files() -> None:
    world = World({"one.yml": "b: 1\na: 1", "two.yml": "c: 1\na: 2"})
    text = dedent("""\
        d: 1
        include: [one.yml, two.yml]
        b: 3
        """)
    assert plain(world.load(text).root) == [("b", 3), ("a", 2), ("c", 1), ("d", 1)]


class TestRounds:
    def test_one_round_for_each_level(self) -> None:
        world = World({f"{at}.yml": f"include: {at + 1}.yml\nj{at}: x" for at in range(4)} | {"4.yml": JOB})
        assert world.keys("include: 0.yml") == ["a", "j0", "j1", "j2", "j3"]
        assert world.asked == [(LocalFile(f"{at}.yml"),) for at in range(5)]

    def test_all_files_of_a_level_are_asked_for_at_once(self) -> None:
        world = World({"a.yml": JOB, "b.yml": JOB, "g/p:c.yml": JOB})
        world.load("include: [a.yml, b.yml, {project: g/p, file: c.yml}]")
        assert world.asked == [(LocalFile("a.yml"), LocalFile("b.yml"), ProjectFile("g/p", "c.yml"))]

    def test_an_item_waits_for_what_its_rules_want_to_know(self) -> None:
        items = ", ".join(f"{{local: {at}.yml, rules: [{{exists: [no.txt]}}]}}" for at in range(200))
        world = World({})
        assert world.keys(f"include: [{items}]\n{JOB}") == ["a"]
        assert world.asked == [(Tree(HERE),)]


class TestRules:
    @pytest.mark.parametrize(
        ("rules", "included"),
        [
            ("[{if: $RUN == 'yes'}]", True),
            ("[{if: $RUN == 'no'}]", False),
            ("[{if: $RUN, when: never}, {when: always}]", False),
            ("[{if: $NOBODY, when: never}, {when: always}]", True),
            ("[{exists: [Dockerfile]}]", True),
            ("[{exists: [Makefile]}]", False),
            ("[{changes: [src/*]}]", True),
            ("[{changes: [docs/*]}]", False),
        ],
    )
    def test_the_first_match_decides(self, rules: str, included: bool) -> None:
        world = World(
            {"a.yml": "b: 1", "Dockerfile": ""}, Context(pipeline={"RUN": Variable("yes")}), changed=("src/x",)
        )
        loaded = world.load(f"include: {{local: a.yml, rules: {rules}}}\n{JOB}")
        assert ("b" in loaded.root) == included

    def test_a_file_that_is_not_included_need_not_exist(self) -> None:
        assert World({}).keys(f"include: {{local: $NOBODY, rules: [{{when: never}}]}}\n{JOB}") == ["a"]

    def test_exists_looks_into_the_including_files_project(self) -> None:
        world = World(
            {
                "g/p:a.yml": "include: {local: b.yml, rules: [{exists: [there.txt]}]}",
                "g/p:b.yml": "b: 1",
                "g/p:there.txt": "",
            }
        )
        assert world.keys("include: {project: g/p, file: a.yml}") == ["b"]

    def test_wrong_rules_are_told(self) -> None:
        (issue,) = World({"a.yml": JOB}).issues("include: {local: a.yml, rules: [{when: manual}]}")
        assert "unknown value: manual" in issue.message
        assert issue.path.startswith("include:rules")


class TestInputs:
    FILE = (
        "spec:\n  inputs:\n    name:\n    n: {type: number, default: 1}\n---\n"
        "$[[ inputs.name ]]:\n  parallel: $[[ inputs.n ]]"
    )

    def test_an_include_hands_over_values(self) -> None:
        world = World({"t.yml": self.FILE})
        items = "[{local: t.yml, inputs: {name: one}}, {local: t.yml, inputs: {name: two, n: 2}}]"
        assert world.load(f"include: {items}").root == {"one": {"parallel": 1}, "two": {"parallel": 2}}

    def test_the_main_file_takes_those_of_the_pipeline(self) -> None:
        world = World({"t.yml": self.FILE}, Context(inputs={"who": "me"}))
        text = "spec: {inputs: {who: null}}\n---\ninclude: {local: t.yml, inputs: {name: '$[[ inputs.who ]]'}}"
        assert world.keys(text) == ["me"]

    @pytest.mark.parametrize(
        ("inputs", "said", "line"),
        [
            ("{name: a, bogus: b}", "`t.yml`: unknown input arguments: bogus", 3),
            ("{name: a, n: abc}", "`t.yml`: `n` input: provided value is not a number", 3),
            ("{n: 1}", "`t.yml`: `name` input: required value has not been provided", 3),
        ],
    )
    def test_wrong_values_stand_at_the_include(self, inputs: str, said: str, line: int) -> None:
        (issue,) = World({"t.yml": self.FILE}).issues(f"include:\n- local: t.yml\n  inputs: {inputs}")
        assert issue.message.startswith(said)
        assert (issue.file, issue.line) == (".gitlab-ci.yml", line)

    def test_inputs_for_a_file_without_any(self) -> None:
        said = "Given inputs not defined in the `spec` section of the included configuration file"
        assert World({"a.yml": JOB}).messages("include: {local: a.yml, inputs: {x: 1}}") == [f"`a.yml`: {said}"]
        assert World({}, Context(inputs={"x": 1})).messages(JOB) == [said]

    def test_a_wrong_header_of_the_main_file_ends_it(self) -> None:
        world = World({})
        assert len(world.messages("spec: {inputs: {n: null}}\n---\na: $[[ inputs.n ]]\ninclude: no.yml")) == 1
        assert world.asked == []


class TestSharedInputs:
    def test_a_header_includes_declarations(self) -> None:
        world = World(
            {
                "in/a.yml": "inputs: {a: {default: one}}",
                "g/p@v1:b.yml": "inputs: {b: {default: two}}",
                "https://x.org/c.yml": "inputs: {c: {default: three}}",
            }
        )
        include = "[/in/a.yml, {project: g/p, ref: v1, file: b.yml}, {remote: 'https://x.org/c.yml'}]"
        text = f"spec: {{include: {include}, inputs: {{d: {{default: four}}}}}}\n---\n"
        blocks = "$[[ inputs.a ]] $[[ inputs.b ]] $[[ inputs.c ]] $[[ inputs.d ]]"
        assert world.load(f"{text}a: {blocks}").root == {"a": "one two three four"}
        assert len(world.asked) == 1

    def test_an_included_file_has_them_from_its_own_project(self) -> None:
        world = World(
            {"g/p:a.yml": "spec: {include: in.yml}\n---\na: $[[ inputs.x ]]", "g/p:in.yml": "inputs: {x: null}"}
        )
        assert world.load("include: {project: g/p, file: a.yml, inputs: {x: v}}").root == {"a": "v"}

    @pytest.mark.parametrize(
        ("files", "include", "said"),
        [
            ({"a.yml": "inputs: {own: {default: 1}}"}, "a.yml", "Duplicate input keys found: own"),
            ({"a.yml": "inputs: {}\njob: {}"}, "a.yml", "contains unknown keys: job"),
            ({}, "a.yml", "Local file `a.yml` does not exist! (included by .gitlab-ci.yml:1)"),
            ({}, "{template: A.gitlab-ci.yml}", "contains unknown keys: template"),
        ],
    )
    def test_refusals(self, files: dict[str, str], include: str, said: str) -> None:
        found = World(files).messages(f"spec: {{include: [{include}], inputs: {{own: {{default: x}}}}}}\n---\n{JOB}")
        assert any(said in message for message in found)

    def test_a_component_may_not(self) -> None:
        world = World({"h/g/p@1": "spec: {include: in.yml}\n---\na: 1", "g:in.yml": "inputs: {}"})
        (issue,) = world.issues("include: {component: h/g/p@1}")
        assert issue.message.startswith("Component `h/g/p@1` cannot use `spec:include`")
        assert (issue.file, issue.line) == ("h/g/p@1", 1)
