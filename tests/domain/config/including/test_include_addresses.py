"""Where included files come from: kinds, wildcards, variables in addresses."""

from collections.abc import Mapping
from typing import ClassVar

import pytest

from domain.config.context import Context
from domain.config.plan import Included, Variable
from domain.config.reading.tree import Map, Place
from domain.config.sources import HERE, LocalFile, Origin, Tree
from tests.domain.config.including.include_world import JOB, SHA, World

NESTED = "Maximum of 150 nested includes are allowed!"


class TestKinds:
    @pytest.mark.parametrize(
        ("item", "name", "kind"),
        [
            ("ci/a.yml", "ci/a.yml", "local"),
            ("//ci/a.YAML", "ci/a.YAML", "local"),
            ("{local: /ci/a.yml}", "ci/a.yml", "local"),
            ("https://x.org/a.yml", "https://x.org/a.yml", "remote"),
            ("{remote: 'http://x.org/a.yaml'}", "http://x.org/a.yaml", "remote"),
            ("{project: g/p, file: /a.yml}", "g/p:a.yml", "project"),
            ("{project: g/p, file: [a.yml], ref: v1}", "g/p@v1:a.yml", "project"),
            ("{template: Jobs/A.gitlab-ci.yml}", "template:Jobs/A.gitlab-ci.yml", "template"),
            ("{component: host/g/p/n@1}", "host/g/p/n@1", "component"),
        ],
    )
    def test_where_files_come_from(self, item: str, name: str, kind: str) -> None:
        loaded = World({name: "a:\n  script: x"}).load(f"include: [{item}]")
        assert loaded.includes == (Included(kind, name, ".gitlab-ci.yml"),)
        job = loaded.root["a"]
        assert isinstance(job, Map)
        assert job.places["script"] == Place(2, 3, name)

    def test_an_artifact_in_a_child_pipeline(self) -> None:
        world = World({"artifact:make:out/a.yml": JOB}, Context(parent_job_artifacts=True))
        loaded = world.load("include: [{artifact: out/a.yml, job: make}]")
        assert loaded.includes == (Included("artifact", "artifact:make:out/a.yml", ".gitlab-ci.yml"),)

    def test_several_files_of_a_project(self) -> None:
        world = World({"g/p@v1:a.yml": "a: 1", "g/p@v1:b.yml": "b: 1"})
        assert world.keys("include: {project: g/p, ref: v1, file: [a.yml, b.yml]}") == ["a", "b"]

    def test_local_files_are_those_of_the_including_files_project(self) -> None:
        world = World(
            {"g/p@v1:a.yml": "include: /b.yml\na: 1", "g/p:b.yml": "include: c.yml\nb: 1", "g/p:c.yml": "c: 1"}
        )
        loaded = world.load("include: {project: g/p, ref: v1, file: a.yml}")
        assert sorted(loaded.root) == ["a", "b", "c"]
        assert loaded.includes[1:] == (
            Included("local", f"g/p@{SHA[:8]}:b.yml", "g/p@v1:a.yml"),
            Included("local", f"g/p@{SHA[:8]}:c.yml", f"g/p@{SHA[:8]}:b.yml"),
        )
        assert world.asked[1] == (LocalFile("b.yml", Origin("g/p", SHA)),)

    @pytest.mark.parametrize("outside", ["https://x.org/a.yml", "template:A.gitlab-ci.yml"])
    def test_files_of_the_outside_have_no_project(self, outside: str) -> None:
        item = "{template: A.gitlab-ci.yml}" if outside.startswith("template") else outside
        world = World(
            {
                outside: "include:\n- b.yml\n- '*.yml'\n- component: h/g/p@1\n- artifact: a.yml\n  job: j",
                "b.yml": JOB,
            },
            Context(parent_job_artifacts=True),
        )
        found = world.issues(f"include: [{item}]")
        assert [(issue.file, issue.line) for issue in found] == [(outside, 2), (outside, 3), (outside, 4), (outside, 5)]
        assert found[0].message.startswith("Local file `b.yml` does not have project!")
        assert found[1].message.startswith("Local file `*.yml` does not have project!")
        assert found[2].message.startswith("Unable to use components outside of a project context")
        assert "only allowed when triggering child pipelines" in found[3].message

    def test_files_of_the_outside_include_others(self) -> None:
        world = World(
            {
                "https://x.org/a.yml": "include: [{project: g/p, file: b.yml}, {template: T.gitlab-ci.yml}]",
                "g/p:b.yml": "b: 1",
                "template:T.gitlab-ci.yml": "include: 'https://x.org/c.yml'",
                "https://x.org/c.yml": "c: 1",
            }
        )
        assert world.keys("include: 'https://x.org/a.yml'") == ["b", "c"]

    def test_a_component_knows_itself_and_so_do_its_files(self) -> None:
        header = "spec: {component: [name, sha, version, reference]}\n---\n"
        text = "'$[[ component.name ]] $[[ component.sha ]] $[[ component.version ]] $[[ component.reference ]]'"
        world = World(
            {
                "host/g/p/n@1.2": f"{header}include: other.yml\nown: {text}",
                "g/p:other.yml": f"{header}other: {text}",
            }
        )
        facts = f"n {SHA} 1.2.0 1.2"
        assert world.load("include: {component: host/g/p/n@1.2}").root == {"own": facts, "other": facts}

    def test_a_file_is_no_component(self) -> None:
        world = World({"a.yml": "spec: {component: [name]}\n---\na: $[[ component.name ]]"})
        (issue,) = world.issues("include: a.yml")
        assert "unknown interpolation provided: `name`" in issue.message
        assert (issue.file, issue.line) == ("a.yml", 3)


class TestWildcards:
    FILES: ClassVar[Mapping[str, str]] = {
        "ci/b.yml": "b: 1\nlast: b",
        "ci/a.yml": "a: 1\nlast: a",
        "ci/x/c.yml": "c: 1",
        "ci/readme.md": "no",
        ".gitlab-ci.yml": "never: read",
    }

    def test_files_come_by_name(self) -> None:
        world = World(self.FILES)
        loaded = world.load("include: /ci/*.yml")
        assert loaded.root == {"a": 1, "b": 1, "last": "b"}
        assert [included.location for included in loaded.includes] == ["ci/a.yml", "ci/b.yml"]
        assert world.asked == [(Tree(HERE),), (LocalFile("ci/a.yml"), LocalFile("ci/b.yml"))]

    def test_two_stars_go_into_folders(self) -> None:
        assert World(self.FILES).keys("include: ci/**.yml") == ["a", "b", "c", "last"]

    def test_the_main_file_does_not_include_itself(self) -> None:
        assert World(self.FILES).keys("include: '**.yml'") == ["a", "b", "c", "last"]

    def test_inputs_go_to_every_file(self) -> None:
        text = "spec: {inputs: {n: null}}\n---\n"
        world = World({"a.yml": f"{text}a: $[[ inputs.n ]]", "b.yml": f"{text}b: $[[ inputs.n ]]"})
        assert world.load("include: {local: '*.yml', inputs: {n: v}}").root == {"a": "v", "b": "v"}

    def test_what_was_pulled_above_is_left_out(self) -> None:
        world = World({"ci/a.yml": "include: ci/*.yml\na: 1", "ci/b.yml": "b: 1"})
        loaded = world.load("include: ci/*.yml")
        assert [included.location for included in loaded.includes] == ["ci/a.yml", "ci/b.yml"]

    def test_files_of_another_project(self) -> None:
        world = World({"g/p:a.yml": "include: x/*.yml", "g/p:x/b.yml": "b: 1", "x/c.yml": "c: 1"})
        assert world.keys("include: {project: g/p, file: a.yml}") == ["b"]
        assert world.asked[1] == (Tree(Origin("g/p", SHA)),)

    def test_nothing_found_is_a_warning(self) -> None:
        world = World({})
        assert world.keys(f"{JOB}\ninclude: ci/*.yml") == ["a"]
        assert [str(warning) for warning in world.warnings] == [".gitlab-ci.yml:2:1: No file matches `ci/*.yml`"]

    def test_limits(self) -> None:
        assert "is too long" in World({}).messages("include: 'ci/" + "*/" * 40 + "a.yml'")[0]
        world = World({f"ci/{at}.yml": JOB for at in range(151)})
        assert world.messages("include: ci/*.yml") == [NESTED]


class TestVariables:
    CONTEXT = Context(
        predefined={"CI_COMMIT_REF_NAME": "main", "WHO": "predefined"},
        project={"WHO": Variable("project"), "DIR": Variable("ci/$CI_COMMIT_REF_NAME"), "TOKEN": Variable("s3cret")},
        pipeline={"RUN": Variable("pipeline")},
        hidden=frozenset({"TOKEN"}),
    )

    @pytest.mark.parametrize(
        ("item", "name"),
        [
            ("'$DIR/${WHO}.yml'", "ci/main/project.yml"),
            ("a$NOBODY.yml", "a.yml"),
            ("'%RUN%.yml'", "pipeline.yml"),
            ("{project: g/$WHO, ref: $RUN, file: [$DIR.yml]}", "g/project@pipeline:ci/main.yml"),
            ("{remote: 'https://$WHO.org/a.yml'}", "https://project.org/a.yml"),
            ("{template: $WHO.gitlab-ci.yml}", "template:project.gitlab-ci.yml"),
            ("{component: $WHO/g/p@$RUN}", "project/g/p@pipeline"),
        ],
    )
    def test_addresses_are_expanded(self, item: str, name: str) -> None:
        loaded = World({name: JOB}, self.CONTEXT).load(f"variables: {{WHO: yaml, NOBODY: yaml}}\ninclude: [{item}]")
        assert [included.location for included in loaded.includes] == [name]

    def test_who_asked_is_written_down(self) -> None:
        world = World({"a.yml": JOB}, self.CONTEXT)
        world.load("include: [a$NOBODY.yml, {local: a.yml, rules: [{if: $RUN}]}]")
        assert world.reads == {"NOBODY", "RUN"}

    def test_a_masked_value_is_used_and_not_shown(self) -> None:
        world = World({"https://x.org/s3cret/a.yml": "a: {script: x}\n  b"}, self.CONTEXT)
        for text in (
            "include: 'https://x.org/$TOKEN/a.yml'",
            "include: 'https://x.org/$TOKEN/b.yml'",
            "include: $TOKEN",
        ):
            found = world.issues(text)
            assert found
            assert all("[masked]" in issue.message or "[masked]" in issue.file for issue in found)
            assert not any("s3cret" in str(issue) for issue in found)
        for include, location in (("$TOKEN.yml", "[masked].yml"), ("$TOKEN*.yml", "[masked]*.yml")):
            loaded = World({"s3cret.yml": JOB}, self.CONTEXT).load(f"include: {include}")
            assert [included.location for included in loaded.includes] == [location]

    def test_inputs_are_handed_over_as_they_are(self) -> None:
        world = World({"a.yml": "spec: {inputs: {n: null}}\n---\na: $[[ inputs.n ]]"}, self.CONTEXT)
        assert world.load("include: {local: a.yml, inputs: {n: $WHO}}").root == {"a": "$WHO"}

    @pytest.mark.parametrize(
        ("item", "said"),
        [
            ("$NOBODY", "`$NOBODY` can't be blank; its variables are empty here"),
            ("'a\\tb.yml'", None),
            ('"a\\tb.yml"', "control characters"),
            ("a" * 3_000 + ".yml", "is too long (maximum is 2,048 characters)"),
        ],
    )
    def test_wrong_addresses(self, item: str, said: str | None) -> None:
        (message,) = World({}).messages(f"include: [{item}]")
        assert (said or "does not exist!") in message
