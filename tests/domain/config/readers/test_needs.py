"""`needs` and `dependencies`: what each form gives, and what is said about wrong ones."""

from typing import Any

import pytest

from domain.config.plan import ForeignNeed
from domain.config.readers.needs import (
    DependencyEntry,
    ForeignNeedEntry,
    NeedEntry,
    Needs,
    read_dependencies,
    read_needs,
)
from domain.config.reading.tree import NOWHERE, Place
from tests.domain.config.reading.fields import field_of, given, refused


def local(
    job: str, *, artifacts: bool = True, optional: bool = False, matrix: Any = None, place: Place = NOWHERE
) -> NeedEntry:
    return NeedEntry(job, artifacts, optional, place, matrix)


def without_places(needs: Needs) -> tuple[list[NeedEntry], list[ForeignNeed]]:
    entries = [NeedEntry(one.job, one.artifacts, one.optional, NOWHERE, one.matrix) for one in needs.local]
    return entries, [one.need for one in needs.foreign]


@pytest.mark.parametrize(
    ("text", "entries"),
    [
        ("[]", []),
        ("[a, 'b: [c]']", [local("a"), local("b: [c]")]),
        ("[a, [b, [c]]]", [local("a"), local("b"), local("c")]),
        ("{job: a}", [local("a")]),
        ("[{job: a, artifacts: false, optional: true}]", [local("a", artifacts=False, optional=True)]),
        ("[{job: a, artifacts: null, optional: null, parallel: null}]", [local("a")]),
        ("[{job: a, pipeline: null, project: null, ref: null}]", [local("a")]),
        (
            "[{job: a, parallel: {matrix: [{OS: linux, ARCH: [x, y, 1]}, {OS: [mac]}]}}]",
            [local("a", matrix=({"OS": ("linux",), "ARCH": ("x", "y", "1")}, {"OS": ("mac",)}))],
        ),
        (
            "[{job: a, parallel: {matrix: [{OS: '$[[ matrix.OS ]]'}]}}]",
            [local("a", matrix=({"OS": ("$[[ matrix.OS ]]",)},))],
        ),
    ],
)
def test_needs_within_the_pipeline(text: str, entries: list[NeedEntry]) -> None:
    assert without_places(given(read_needs, "needs", text)) == (entries, [])


@pytest.mark.parametrize(
    ("text", "needs"),
    [
        ("[{pipeline: $UP, job: a}]", [ForeignNeed("a", pipeline="$UP")]),
        ("[{pipeline: $UP, job: a, artifacts: false}]", [ForeignNeed("a", artifacts=False, pipeline="$UP")]),
        ("{pipeline: group/project}", [ForeignNeed(pipeline="group/project")]),
        (
            "[{project: g/p, ref: main, job: a, artifacts: true}]",
            [ForeignNeed("a", project="g/p", ref="main")],
        ),
        (
            "[{pipeline: $UP, job: a, parallel: {matrix: [{X: [1, 2]}]}}]",
            [ForeignNeed("a: [1]", pipeline="$UP"), ForeignNeed("a: [2]", pipeline="$UP")],
        ),
        (
            f"[{', '.join(['{pipeline: $UP, job: a}'] * 5 + ['{project: p, ref: r, job: a}'] * 5)}]",
            [ForeignNeed("a", pipeline="$UP")] * 5 + [ForeignNeed("a", project="p", ref="r")] * 5,
        ),
    ],
)
def test_needs_outside_the_pipeline(text: str, needs: list[ForeignNeed]) -> None:
    assert without_places(given(read_needs, "needs", text)) == ([], needs)


def test_both_kinds_keep_their_places() -> None:
    found = given(read_needs, "needs", "[a,\n  {pipeline: $UP, job: b},\n  {job: c}]")
    assert found == Needs(
        (local("a", place=Place(1, 9)), local("c", place=Place(3, 3))),
        (ForeignNeedEntry(ForeignNeed("b", pipeline="$UP"), Place(2, 3)),),
    )


NEED = "needs:need"
PICK = f"{NEED}:parallel"
MANY = "must be less than or equal to 5, the most jobs of other pipelines that can be needed"


@pytest.mark.parametrize(
    ("text", "line", "path", "message"),
    [
        ("a", 1, "needs", "needs config can only be a hash or an array"),
        ("1", 1, "needs", "needs config can only be a hash or an array"),
        (
            f"{'[' * 11}a{']' * 11}",
            1,
            "needs",
            "needs config should be an array, nested up to 10 levels deep",
        ),
        (
            "[a,\n 1]",
            2,
            NEED,
            f"{NEED} config has an unsupported type; write the name of a job or a mapping with `job`",
        ),
        ("['']", 1, NEED, f"{NEED} config can't be blank"),
        (f"[{'a' * 256}]", 1, NEED, f"{NEED} config is too long (maximum is 255 characters)"),
        (
            "[{artifacts: true}]",
            1,
            NEED,
            f"{NEED} job can't be blank; a mapping without job, pipeline or project has an unsupported type",
        ),
        ("[{job: 1}]", 1, f"{NEED}:job", f"{NEED} job should be a string"),
        ("[{\n job: ' '}]", 2, f"{NEED}:job", f"{NEED} job can't be blank"),
        (f"[{{job: {'a' * 256}}}]", 1, f"{NEED}:job", f"{NEED} job is too long (maximum is 255 characters)"),
        (
            "[{job: a,\n artifact: b}]",
            2,
            NEED,
            f"{NEED} config contains unknown keys: artifact; did you mean `artifacts`?",
        ),
        ("[{job: a, artifacts: b}]", 1, f"{NEED}:artifacts", f"{NEED} artifacts should be a boolean value"),
        ("[{job: a, optional: 1}]", 1, f"{NEED}:optional", f"{NEED} optional should be a boolean value"),
        (
            "[{job: a,\n parallel: 2}]",
            2,
            PICK,
            f'{PICK} config cannot use "parallel: <number>"; write `parallel: {{matrix: [...]}}`',
        ),
        ("[{job: a, parallel: b}]", 1, PICK, f"{PICK} config should be a hash"),
        ("[{job: a, parallel: {}}]", 1, PICK, f"{PICK} config missing required keys: matrix"),
        (
            "[{job: a, parallel: {matrix: b}}]",
            1,
            f"{PICK}:matrix",
            f"{PICK}:matrix config should be an array of hashes",
        ),
        (
            "[{pipeline: $UP, project: p, job: a}]",
            1,
            NEED,
            f"{NEED} config has an unsupported type; these keys cannot be used together: pipeline, project",
        ),
        ("[{pipeline: 1, job: a}]", 1, f"{NEED}:pipeline", f"{NEED} pipeline should be a string"),
        ("[{pipeline: $UP, job: ''}]", 1, f"{NEED}:job", f"{NEED} job can't be blank"),
        ("[{pipeline: $UP, job: null}]", 1, NEED, f"{NEED} job can't be blank"),
        ("{pipeline: ''}", 1, f"{NEED}:pipeline", f"{NEED} pipeline can't be blank"),
        ("{pipeline: $UP,\n artifacts: true}", 2, NEED, f"{NEED} config contains unknown keys: artifacts"),
        ("[{project: p, job: a}]", 1, NEED, f"{NEED} ref can't be blank"),
        ("[{project: p, ref: r}]", 1, NEED, f"{NEED} job can't be blank"),
        ("[{ref: r, job: a}]", 1, NEED, f"{NEED} project can't be blank"),
        (f"[{', '.join(['{pipeline: $UP, job: a}'] * 6)}]", 1, "needs", f"needs config {MANY}"),
        (f"[{', '.join(['{project: p, ref: r, job: a}'] * 6)}]", 1, "needs", f"needs config {MANY}"),
        (
            "[{pipeline: $UP, job: a,\n parallel: {matrix: [{X: [1, 2, 3], Y: [1, 2]}]}}]",
            2,
            PICK,
            f"{PICK} config {MANY}",
        ),
    ],
)
def test_refused(text: str, line: int, path: str, message: str) -> None:
    assert refused(read_needs, "needs", text) == [(line, path, message)]


def test_a_wrong_need_hides_no_other() -> None:
    field = field_of("needs", "[{job: a, optional: 1}, b]")
    found = read_needs(field)
    assert found is not None
    assert [need.job for need in found.local] == ["b"]
    assert len(field.issues) == 1


def test_dependencies() -> None:
    found = given(read_dependencies, "dependencies", "[a,\n  b]")
    assert found == (DependencyEntry("a", Place(1, 16)), DependencyEntry("b", Place(2, 3)))


@pytest.mark.parametrize("text", ["a", "[1]", "[[a]]", "{a: b}"])
def test_wrong_dependencies(text: str) -> None:
    said = "dependencies config should be an array of strings"
    assert refused(read_dependencies, "dependencies", text) == [(1, "dependencies", said)]
