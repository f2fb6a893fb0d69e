"""`trigger`: what each form gives, and what is said about wrong ones."""

import pytest

from domain.config.plan import Trigger
from domain.config.readers.trigger import read_trigger
from tests.domain.config.reading.fields import given, refused

LOCAL = ({"local": "a.yml"},)


@pytest.mark.parametrize(
    ("text", "trigger"),
    [
        ("group/project", Trigger("group/project")),
        ("{project: $GROUP/p, branch: dev, strategy: depend}", Trigger("$GROUP/p", "dev", strategy="depend")),
        ("{project: g/p, strategy: mirror, branch: null}", Trigger("g/p", strategy="mirror")),
        ("{project: g/p, inputs: {a: 1, b: [c]}}", Trigger("g/p", inputs={"a": 1, "b": ["c"]})),
        (
            "{project: g/p, forward: {yaml_variables: false, pipeline_variables: true}}",
            Trigger("g/p", forward_yaml_variables=False, forward_pipeline_variables=True),
        ),
        ("{project: g/p, forward: {}}", Trigger("g/p")),
        ("{project: g/p, forward: null, inputs: null, strategy: null}", Trigger("g/p")),
        ("{include: a.yml}", Trigger(include=LOCAL)),
        ("{include: 'https://h/a.yml'}", Trigger(include=({"remote": "https://h/a.yml"},))),
        ("{include: [a.yml], strategy: depend}", Trigger(include=LOCAL, strategy="depend")),
        (
            "{include: [{local: a.yml, inputs: {b: true}}]}",
            Trigger(include=({"local": "a.yml", "inputs": {"b": True}},)),
        ),
        ("{project: a/b, inputs: {b: null}}", Trigger("a/b", inputs={"b": None})),
        (
            "{include: [{project: g/p, file: [a.yml, b.yml], ref: v1}]}",
            Trigger(include=({"project": "g/p", "file": ["a.yml", "b.yml"], "ref": "v1"},)),
        ),
        (
            "{include: [{template: T.gitlab-ci.yml}, {component: h/p/c@1}, {artifact: a.yml, job: make}]}",
            Trigger(
                include=(
                    {"template": "T.gitlab-ci.yml"},
                    {"component": "h/p/c@1"},
                    {"artifact": "a.yml", "job": "make"},
                )
            ),
        ),
        (
            "{include: [{remote: u, rules: [{if: $A}]}]}",
            Trigger(include=({"remote": "u", "rules": [{"if": "$A"}]},)),
        ),
    ],
)
def test_given(text: str, trigger: Trigger) -> None:
    assert given(read_trigger, "trigger", text) == trigger


ITEM = "trigger:include:include"
NUMBER = "contains a number that is not finite or too large; put quotes around it"


@pytest.mark.parametrize(
    ("text", "line", "path", "message"),
    [
        ("123", 1, "trigger", "trigger config has to be either a string or a hash"),
        ("[a/b]", 1, "trigger", "trigger config has to be either a string or a hash"),
        ("''", 1, "trigger", "trigger config can't be blank"),
        ("{}", 1, "trigger", "trigger config can't be blank"),
        ("{branch: a}", 1, "trigger", "trigger project can't be blank"),
        ("{project: ''}", 1, "trigger:project", "trigger project can't be blank"),
        ("{\n project: [a/b]}", 2, "trigger:project", "trigger project should be a string"),
        ("{project: a/b, branch: 1}", 1, "trigger:branch", "trigger branch should be a string"),
        (
            "{project: a/b,\n strateggy: depend}",
            2,
            "trigger",
            "trigger config contains unknown keys: strateggy; did you mean `strategy`?",
        ),
        ("{project: a/b,\n strategy: wait}", 2, "trigger:strategy", "trigger strategy should be depend or mirror"),
        (
            "{project: a/b, strategy: true}",
            1,
            "trigger:strategy",
            "trigger strategy should be a string; should be depend or mirror",
        ),
        ("{project: a/b, inputs: c}", 1, "trigger:inputs", "trigger inputs should be a hash"),
        ("{project: a/b, inputs: {c: {\n d: .nan}}}", 2, "trigger:inputs", f"trigger inputs {NUMBER}"),
        (f"{{project: a/b, inputs: {{c: {2**64}}}}}", 1, "trigger:inputs", f"trigger inputs {NUMBER}"),
        ("{project: a/b, forward: true}", 1, "trigger:forward", "trigger:forward config should be a hash"),
        (
            "{project: a/b, forward: {\n variables: true}}",
            2,
            "trigger:forward",
            "trigger:forward config contains unknown keys: variables",
        ),
        (
            "{project: a/b, forward: {yaml_variables: 1}}",
            1,
            "trigger:forward:yaml_variables",
            "trigger:forward yaml variables should be a boolean value",
        ),
        (
            "{project: a/b, include: c.yml, branch: d}",
            1,
            "trigger",
            "trigger config contains unknown keys: project, branch; with `include` it is a pipeline of this project",
        ),
        ("{include: null}", 1, "trigger", "trigger project can't be blank"),
        ("{include: []}", 1, "trigger:include", "trigger:include config can't be blank"),
        ("{include: ''}", 1, "trigger:include", "trigger:include config can't be blank"),
        ("{include: {local: a.yml}}", 1, "trigger:include", "trigger:include config should be an array or a string"),
        (
            "{include: [a.yml, b.yml, c.yml, d.yml]}",
            1,
            "trigger:include",
            "trigger:include config is too long (maximum is 3)",
        ),
        ("{include: [a.yml,\n 1]}", 2, ITEM, f"{ITEM} config should be a hash or a string"),
        ("{include: [a.yml, ' ']}", 1, ITEM, f"{ITEM} config can't be blank"),
        (
            "{include: [{local: a.yml,\n input: {}}]}",
            2,
            ITEM,
            f"{ITEM} config contains unknown keys: input; did you mean `inputs`?",
        ),
        (
            "{include: [{local: a, remote: b}]}",
            1,
            ITEM,
            f"{ITEM} Each include must use only one of: local, project, remote, template, component, artifact",
        ),
        (
            "{include: [{inputs: {}}]}",
            1,
            ITEM,
            f"{ITEM} Each include must use only one of: local, project, remote, template, component, artifact",
        ),
        (
            "{include: [{project: a/b}]}",
            1,
            ITEM,
            f"{ITEM} config must specify the file where to fetch the config from",
        ),
        (
            "{include: [{artifact: a.yml}]}",
            1,
            ITEM,
            f"{ITEM} config must specify the job where to fetch the artifact from",
        ),
        ("{include: [{artifact: a.yml, job: [b]}]}", 1, f"{ITEM}:job", f"{ITEM} job should be a string"),
        ("{include: [{local: [a]}]}", 1, f"{ITEM}:local", f"{ITEM} local should be a string"),
        (
            "{include: [{project: a/b, file: 1}]}",
            1,
            f"{ITEM}:file",
            f"{ITEM} file should be an array of strings or a string",
        ),
        ("{include: [{project: a/b, file: c, ref: ''}]}", 1, f"{ITEM}:ref", f"{ITEM} ref can't be blank"),
        ("{include: [{local: a, inputs: [b]}]}", 1, f"{ITEM}:inputs", f"{ITEM} inputs should be a hash"),
        ("{include: [{local: a, rules: [b]}]}", 1, f"{ITEM}:rules", f"{ITEM} rules should be an array of hashes"),
    ],
)
def test_refused(text: str, line: int, path: str, message: str) -> None:
    assert refused(read_trigger, "trigger", text) == [(line, path, message)]
