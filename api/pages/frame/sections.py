"""The sections of a project: what its pages are listed under, above each of them and in the palette."""

from typing import Final, NamedTuple


class Section(NamedTuple):
    """One section: its key, its name, its address below the project's, and the letter after `g` that leads to it."""

    key: str
    label: str
    path: str
    letter: str


SECTIONS: Final = (
    Section("pipelines", "Pipelines", "/-/pipelines", "p"),
    Section("merge_requests", "Merge requests", "/-/merge_requests", "m"),
    Section("environments", "Environments", "/-/environments", "e"),
    Section("releases", "Releases", "/-/releases", "r"),
    Section("schedules", "Schedules", "/-/pipeline_schedules", "s"),
    Section("tests", "Tests", "/-/flaky_tests", "t"),
    Section("figures", "Figures", "/-/pipelines/charts", "c"),
)
