"""Headers: what a file declares about its inputs, and what is said when it does so wrongly."""

from textwrap import dedent
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from domain.config.inputs.header import Header, read_header, read_shared_inputs, with_shared
from domain.config.inputs.input_types import InputType, as_value
from domain.config.inputs.inputs import input_values
from domain.config.issue import ConfigIssue
from domain.config.reading.issues import Issues
from domain.config.reading.source import read
from domain.config.reading.tree import Items, Map, Place
from domain.errors import ConfigInvalid


def header_of(text: str, issues: Issues) -> Header:
    """The header of a file that begins with this text."""
    source = read(f"{dedent(text)}\n---\njob: {{script: x}}\n", issues)
    assert source.header is not None
    return read_header(source.header, issues)


def wrong(text: str) -> list[ConfigIssue]:
    """What is wrong with a header."""
    issues = Issues(".gitlab-ci.yml")
    header_of(text, issues)
    with pytest.raises(ConfigInvalid) as caught:
        issues.raise_if_any()
    return list(caught.value.issues)


def right(text: str) -> Header:
    """A header without mistakes."""
    issues = Issues(".gitlab-ci.yml")
    found = header_of(text, issues)
    issues.raise_if_any()
    return found


def test_every_key_is_read() -> None:
    header = right(
        """
        spec:
          description: A template
          component: [name, sha, name]
          include: [{local: /shared.yml}]
          inputs:
            site:
            count: {type: number, default: "3", options: [1, 2, 3], description: How many}
            deep: {type: array, default: [a, {b: c}]}
            fast: {type: boolean, default: true}
            tag: {regex: ^v\\d, default: v1}
        """
    )
    assert header.description == "A template"
    assert header.component == ("name", "sha")
    assert header.include == [{"local": "/shared.yml"}]
    assert isinstance(header.include, Items)
    assert header.include_place.line == 5
    site, count, deep, fast, tag = header.inputs.values()
    assert (site.type, site.required, site.options) == (InputType.STRING, True, None)
    assert (count.type, count.required, count.default, count.options) == (InputType.NUMBER, False, 3, (1, 2, 3))
    assert (deep.default, fast.default) == (["a", {"b": "c"}], True)
    assert tag.pattern is not None
    assert tag.pattern.text == "^v\\d"
    assert count.place.line == 8


@pytest.mark.parametrize("text", ["spec:", "spec: {}", "spec: {inputs: }", "spec: {description: }"])
def test_a_header_may_say_nothing(text: str) -> None:
    assert right(text).inputs == {}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("spec: {}\nspek: {}", "header config contains unknown keys: spek; did you mean `spec`?"),
        ("spec: []", "header:spec config should be a hash"),
        ("spec: {input: {}}", "header:spec config contains unknown keys: input; did you mean `inputs`?"),
        ("spec: {inputs: [a]}", "header:spec:inputs config should be a hash"),
        ("spec: {inputs: {a: text}}", "header:spec:inputs:a config should be a hash"),
        ("spec: {inputs: {a: {defalt: 1}}}", "header:spec:inputs:a config contains unknown keys: defalt; did you mean"),
        ("spec: {inputs: {a: {type: text}}}", "header:spec:inputs:a input type unknown value: text"),
        ("spec: {inputs: {a: {type: [x]}}}", 'header:spec:inputs:a input type unknown value: ["x"]'),
        ("spec: {inputs: {a: {type: strin}}}", "did you mean `string`?"),
        ("spec: {inputs: {a: {description: []}}}", "header:spec:inputs:a input description must be an alphanumeric"),
        ("spec: {inputs: {a: {regex: 3}}}", "header:spec:inputs:a input regex should be a string"),
        ("spec: {inputs: {a: {regex: '('}}}", "`a` input: invalid regular expression"),
        ("spec: {inputs: {a: {regex: x, type: number}}}", "RegEx validation can only be used with string inputs"),
        ("spec: {inputs: {a: {options: x}}}", "header:spec:inputs:a input options should be an array"),
        ("spec: {inputs: {a: {options: [x, null]}}}", "options array cannot contain null values"),
        ("spec: {inputs: {a: {options: [[x]]}}}", "options array can only contain plain values"),
        (
            "spec: {inputs: {a: {options: [true], type: boolean}}}",
            "`a` input: Options can only be used with string and number inputs",
        ),
        ("spec: {inputs: {a: {options: [x], type: array}}}", "Options can only be used with string and number inputs"),
        ("spec: {inputs: {a: {default: x, type: number}}}", "`a` input: default value is not a number"),
        ("spec: {inputs: {a: {default: 1, type: boolean}}}", "`a` input: default value is not a boolean"),
        ("spec: {inputs: {a: {default: x, type: array}}}", "`a` input: default value is not an array"),
        ("spec: {inputs: {a: {default: [x]}}}", "`a` input: default value is not a string"),
        (
            "spec: {inputs: {a: {default: stagin, options: [staging, live]}}}",
            "`stagin` cannot be used because it is not in the list of allowed options: staging, live; did you mean `st",
        ),
        (
            "spec: {inputs: {a: {default: x1, regex: ^v}}}",
            "`a` input: default value does not match required RegEx pattern `^v`",
        ),
        ("spec: {component: name}", "header:spec:component config should be an array of strings"),
        (
            "spec: {component: [shaa]}",
            "header:spec:component config contains unknown values: shaa; did you mean `sha`",
        ),
        ("spec: {component: [owner]}", "it may list name, reference, sha, version"),
        ("spec: {description: [x]}", "header:spec description should be a string"),
        (f"spec: {{description: {'x' * 257}}}", "header:spec description is too long (maximum is 256 characters)"),
        (
            "spec: {inputs: {a: {options: [x], rules: [{default: x}]}}}",
            "header:spec:inputs:a config these keys cannot be used together: rules, options",
        ),
        ("spec: {inputs: {a: {default: x, rules: [{default: x}]}}}", "cannot be used together: rules, default"),
    ],
)
def test_refused(text: str, said: str) -> None:
    messages = [issue.message for issue in wrong(text)]
    assert len(messages) == 1
    assert said in messages[0]


def test_fifty_options_and_no_more() -> None:
    options = ", ".join(str(number) for number in range(50))
    spec = right(f"spec: {{inputs: {{a: {{type: number, options: [{options}]}}}}}}").inputs["a"]
    assert spec.options == tuple(range(50))
    (issue,) = wrong(f"spec: {{inputs: {{a: {{type: number, options: [{options}, 50]}}}}}}")
    assert issue.message == "header:spec:inputs:a config cannot define more than 50 options"


@pytest.mark.parametrize(
    "inputs",
    [
        ", ".join(f"a{number}: " for number in range(1_001)),
        f"a: {{rules: [{', '.join(['{default: x}'] * 501)}]}}, b: {{rules: [{', '.join(['{default: x}'] * 500)}]}}",
    ],
)
def test_too_many_entries(inputs: str) -> None:
    (issue,) = wrong(f"spec: {{inputs: {{{inputs}}}}}")
    assert issue.message.startswith("header:spec:inputs config has too many entries")


def test_all_mistakes_are_told_with_their_places() -> None:
    issues = wrong(
        """
        spec:
          inputs:
            one: {type: text}
            two:
              default: x
              regex: ^v
          componet: [name]
        """
    )
    assert [(issue.line, issue.path) for issue in issues] == [
        (4, "header:spec:inputs:one:type"),
        (6, "header:spec:inputs:two"),
        (8, "header:spec"),
    ]


@pytest.mark.parametrize(
    ("rules", "said"),
    [
        ("text", "header:spec:inputs:b input rules should be an array"),
        ("[text]", "`b` input: should be a hash"),
        ("[{iff: x, default: y}]", "`b` input: contains unknown keys: iff; did you mean `if`?"),
        ("[{options: [x]}]", "`b` input: rule must define 'options' with at least one value and a 'default'"),
        ("[{options: [], default: x}]", "`b` input: rule must define 'options' with at least one value"),
        ("[{if: '$[[ inputs.a ]]'}]", "`b` input: rule must define 'options'"),
        ("[{options: [x, y], default: z}]", "`b` input: default 'z' must be one of the options: x, y"),
        ("[{options: [x], default: null}]", "`b` input: default '' must be one of the options: x"),
        ("[{options: x, default: x}]", "header:spec:inputs:b:rules options should be an array"),
        ("[{if: '$[[ inputs.a ]] ==', default: x}]", "header:spec:inputs:b:rules if invalid expression syntax"),
        ("[{if: '$[[ inputs.a ]] $[[ inputs.b ]]', default: x}]", "met `$[[ inputs.b ]]`, but expected an operator"),
        ("[{if: 3, default: x}]", "header:spec:inputs:b:rules if invalid expression syntax"),
        ("[{if: '$[[ matrix.a ]]', default: x}]", "`matrix.a` is no input; write $[[ inputs.name ]]"),
        ("[{if: '$[[ inputs.c ]] == \"x\"', default: x}]", "`b` input: rule[0] references undefined inputs: c"),
        ("[{if: '$[[ inputs.b ]] == \"x\"', default: x}]", "`b` input: circular dependency detected: b -> b"),
    ],
)
def test_rules_refused(rules: str, said: str) -> None:
    messages = [issue.message for issue in wrong(f"spec: {{inputs: {{a: {{default: x}}, b: {{rules: {rules}}}}}}}")]
    assert len(messages) == 1
    assert said in messages[0]


def test_a_circle_over_several_inputs() -> None:
    rule = "{rules: [{if: '$[[ inputs.%s ]] == \"x\"', default: x}]}"
    (issue,) = wrong(f"spec: {{inputs: {{a: {rule % 'b'}, b: {rule % 'c'}, c: {rule % 'a'}}}}}")
    assert "circular dependency detected" in issue.message


SHARED = "inputs:\n  place: {default: here}\n"


def shared_inputs(text: str, issues: Issues) -> object:
    """What a file gives to a header that includes it."""
    return read_shared_inputs(read(text, issues, "shared.yml").root, issues)


def test_shared_inputs_are_joined_and_may_be_asked_for_by_rules() -> None:
    issues = Issues(".gitlab-ci.yml")
    rule = "{if: '$[[ inputs.place ]] == \"here\"', default: near}"
    header = header_of(f"spec: {{include: [{{local: x.yml}}], inputs: {{way: {{rules: [{rule}]}}}}}}", issues)
    joined = with_shared(header, [read_shared_inputs(read(SHARED, issues, "x.yml").root, issues)], issues)
    issues.raise_if_any()
    assert list(joined.inputs) == ["place", "way"]
    assert joined.include is None


def test_no_input_is_declared_twice() -> None:
    issues = Issues(".gitlab-ci.yml")
    header = header_of("spec: {include: [{local: x.yml}], inputs: {place: }}", issues)
    with_shared(header, [read_shared_inputs(read(SHARED, issues).root, issues)], issues)
    with pytest.raises(ConfigInvalid, match="Duplicate input keys found: place"):
        issues.raise_if_any()


def test_a_shared_file_holds_inputs_only() -> None:
    issues = Issues(".gitlab-ci.yml")
    assert read_shared_inputs(Map(), issues) == {}
    shared_inputs("inputs: {a: }\njob: {script: x}", issues)
    with pytest.raises(ConfigInvalid, match=r"shared\.yml:2:1: header:include config contains unknown keys: job"):
        issues.raise_if_any()


CONDITIONS = st.lists(
    st.sampled_from(
        ["$[[ inputs.a ]]", "$[[inputs.b]]", "$[[ x.y ]]", "==", "=~", "'a'", "/a+/", "(", ")", "&&", '"', "!"]
    )
).map(" ".join)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4) | CONDITIONS
VALUES = SCALARS | st.lists(SCALARS, max_size=3)
RULES = st.lists(st.dictionaries(st.sampled_from(["if", "options", "default", "x"]), VALUES) | SCALARS, max_size=3)
TYPES = st.sampled_from(["string", "number", "boolean", "array"])
INPUTS = st.fixed_dictionaries(
    {},
    optional={
        "type": TYPES | SCALARS,
        "default": VALUES,
        "options": VALUES,
        "regex": SCALARS,
        "description": VALUES,
        "rules": RULES | SCALARS,
        "more": SCALARS,
    },
)


@settings(max_examples=300)
@given(
    inputs=st.dictionaries(st.sampled_from(["a", "b", "c"]), INPUTS | SCALARS),
    component=VALUES,
    description=VALUES,
    values=st.dictionaries(st.sampled_from(["a", "b", "d"]), VALUES),
)
def test_any_header_is_read_or_refused(inputs: Any, component: Any, description: Any, values: Any) -> None:
    """And of a right one every input has a value, or an issue says why not."""
    spec = {"inputs": inputs, "component": component, "description": description}
    written = as_value({"spec": spec}, Place(1, 1))
    assert isinstance(written, Map)
    issues = Issues(".gitlab-ci.yml")
    header = read_header(written, issues)
    assert set(input_values(header, values, issues, Place(1, 1), "")) == set(header.inputs)
